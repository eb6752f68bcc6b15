package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// Payloads are lossless JSON: whatever is logged reads back as the same value, in any language. See spec §2.1.

var (
	errNotUTF8 = errors.New("text is not valid UTF-8")
	errNotJSON = errors.New("not valid JSON")
	errNoValue = errors.New("a block or chunk is nil or a pointer")

	rawType = reflect.TypeFor[json.RawMessage]()
)

// lossless looks for values that JSON cannot carry anywhere in v.
func lossless(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		return losslessText(v.String())
	case reflect.Float64:
		return losslessFloat(v.Float())
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return lossless(v.Elem())
	case reflect.Interface:
		if v.IsNil() || v.Elem().Kind() == reflect.Pointer {
			return errNoValue
		}
		return lossless(v.Elem())
	case reflect.Struct:
		return losslessFields(v)
	case reflect.Slice:
		return losslessItems(v)
	}
	return nil
}

func losslessFields(v reflect.Value) error {
	for i := range v.NumField() {
		if err := lossless(v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func losslessItems(v reflect.Value) error {
	if v.Type() == rawType {
		return losslessRaw(v.Bytes())
	}
	switch v.Type().Elem().Kind() {
	case reflect.Int64, reflect.Int:
		return nil
	}
	for i := range v.Len() {
		if err := lossless(v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func losslessText(s string) error {
	if utf8.ValidString(s) {
		return nil
	}
	return errNotUTF8
}

func losslessFloat(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) || (f == 0 && math.Signbit(f)) {
		return fmt.Errorf("number %v has no JSON form", f)
	}
	return nil
}

// losslessRaw checks a JSON text; absent is fine.
func losslessRaw(raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	if !json.Valid(raw) {
		return errNotJSON
	}
	return losslessTokens(raw)
}

// losslessTokens checks the numbers and the encoding of a valid JSON text.
func losslessTokens(raw []byte) error {
	if !utf8.Valid(raw) {
		return errNotUTF8
	}
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			i = endOfString(raw, i)
		case c == '-' || c >= '0' && c <= '9':
			end := endOfNumber(raw, i)
			if err := losslessNumber(raw[i:end]); err != nil {
				return err
			}
			i = end - 1
		}
	}
	return nil
}

// endOfString returns the index of the quote that closes the string opened at i.
func endOfString(raw []byte, i int) int {
	for i++; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i
}

func endOfNumber(raw []byte, i int) int {
	for i < len(raw) {
		switch raw[i] {
		case '+', '-', '.', 'e', 'E', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			i++
		default:
			return i
		}
	}
	return i
}

// plainDigits is a length up to which a non-negative number without exponent cannot overflow.
const plainDigits = 300

// losslessNumber refuses what a double turns into minus zero or infinity.
func losslessNumber(tok []byte) error {
	plain := tok[0] != '-' && len(tok) < plainDigits
	for _, c := range tok {
		plain = plain && c != 'e' && c != 'E'
	}
	if plain {
		return nil
	}
	f, err := strconv.ParseFloat(string(tok), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return errNotJSON
	}
	return losslessFloat(f)
}

// checkLossless refuses an event that JSON cannot carry.
func checkLossless(e Event) error {
	if err := lossless(reflect.ValueOf(e)); err != nil {
		return refuse(RuleData, "%s is not lossless JSON: %v", e.Type(), err)
	}
	return nil
}
