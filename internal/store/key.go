package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/everturn/everturn/session"
)

// maxPart bounds an escaped part of a key, well below the 255 bytes a file name may have.
const maxPart = 200

// escape turns an id into one part of a key. Lower-case letters, digits, '-' and '_' stay, every other byte becomes =xx,
// so that ids which differ only in case stay apart on a file system that does not tell case. A long one is hashed.
func escape(id string) string {
	var b strings.Builder
	for i := range len(id) {
		if c := id[i]; isPlain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	if b.Len() <= maxPart {
		return b.String()
	}
	return "=h" + hashOf([]byte(id)) // h is no hexadecimal digit: it cannot be confused with an escaped id
}

// unescape is the inverse of escape; ok is false for a hashed id.
func unescape(part string) (id string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		if part[i] != '=' {
			b.WriteByte(part[i])
			continue
		}
		if i+3 > len(part) {
			return "", false
		}
		c, err := strconv.ParseUint(part[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String(), true
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// checkKey refuses keys outside the alphabet of [Objects].
func checkKey(key string) error {
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part[0] == '.' || len(part) > 255 {
			return fmt.Errorf("object key %q: bad part %q", key, part)
		}
		for i := range len(part) {
			if c := part[i]; !isPlain(c) && c != '.' && c != '=' {
				return fmt.Errorf("object key %q: bad byte %q", key, c)
			}
		}
	}
	return nil
}

// checkSession refuses session ids that no session can have. See spec §2.7.
func checkSession(id string) error {
	if !session.ValidID(id) {
		return fmt.Errorf("session id %.40q is not 1–200 characters without control characters", id)
	}
	return nil
}

// number writes n so that keys sort by it.
func number(n int64) string { return fmt.Sprintf("%019d", n) }

// lastNumber reads the last part of a key written with number.
func lastNumber(key string) (int64, error) {
	part := key[strings.LastIndexByte(key, '/')+1:]
	n, err := strconv.ParseInt(part, 10, 64)
	if err != nil {
		return 0, damaged(key, "its name is not a number", err)
	}
	return n, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func isHash(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size && strings.ToLower(s) == s
}

// contentKey spreads content-addressed objects over 256 folders.
func contentKey(kind, hash string) string { return kind + "/" + hash[:2] + "/" + hash }
