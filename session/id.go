package session

import (
	"unicode"
	"unicode/utf8"
)

// maxID is the longest id in characters. See spec §2.7.
const maxID = 200

// ValidID reports whether s can name a message, a call or a session: 1–200 characters, none of them a control
// character. See spec §2.7.
func ValidID(s string) bool {
	if s == "" || len(s) > maxID*utf8.UTFMax || !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxID {
		return false
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return false
		}
	}
	return true
}

func checkID(what, id string) error {
	if ValidID(id) {
		return nil
	}
	return refuse(RuleID, "%s %.40q is not 1–%d characters without control characters", what, id, maxID)
}
