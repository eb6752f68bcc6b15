package work

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// CallDigest is what an approval is bound to: the hex SHA-256 of a tool's name and its arguments in one canonical form, the
// names of each object sorted, numbers as they are written, no blanks. Arguments that are no JSON, or in which two names
// could be taken for the same one, count as they are: what a tool makes of them hangs on their order.
func CallDigest(tool, arguments string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %s", tool, canonical(arguments)))
	return hex.EncodeToString(sum[:])
}

func canonical(arguments string) string {
	text := strings.TrimSpace(arguments)
	if text == "" {
		return "{}"
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var out bytes.Buffer
	if err := canon(dec, &out, 0); err != nil || dec.InputOffset() != int64(len(text)) {
		return arguments
	}
	return out.String()
}

// maxCanonDepth bounds the work: what lies deeper is no tool's arguments.
const maxCanonDepth = 200

var errNoCanon = errors.New("it can be read in two ways, or nobody reads it")

// canon copies one value.
func canon(dec *json.Decoder, out *bytes.Buffer, depth int) error {
	if depth > maxCanonDepth {
		return errNoCanon
	}
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return canonObject(dec, out, depth+1)
	case json.Delim('['):
		return canonArray(dec, out, depth+1)
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(token); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the line's end
	return nil
}

func canonArray(dec *json.Decoder, out *bytes.Buffer, depth int) error {
	out.WriteByte('[')
	for n := 0; dec.More(); n++ {
		if n > 0 {
			out.WriteByte(',')
		}
		if err := canon(dec, out, depth); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	_, err := dec.Token()
	return err
}

func canonObject(dec *json.Decoder, out *bytes.Buffer, depth int) error {
	type member struct{ name, text string }
	var members []member
	seen := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		text := name.(string) // the decoder takes nothing else for a name
		if seen[folded(text)] {
			return errNoCanon
		}
		seen[folded(text)] = true
		var value bytes.Buffer
		if err := canon(dec, &value, depth); err != nil {
			return err
		}
		members = append(members, member{text, value.String()})
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	out.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return err
		}
		out.Write(name)
		out.WriteByte(':')
		out.WriteString(m.text)
	}
	out.WriteByte('}')
	_, err := dec.Token()
	return err
}

// folded is the same for names that differ only in case, see [strings.EqualFold].
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}
