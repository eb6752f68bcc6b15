package session

import (
	"bytes"
	"strings"
)

// checkFeature: an object of a type this project knows; todo/write only inside a turn. See spec §2.4.3.6.
func (s *State) checkFeature(e Feature) error {
	if !isFeature(e.Kind) {
		return refuse(RuleType, "%.40q is no feature event", e.Kind)
	}
	if !isObject(e.Data) {
		return refuse(RuleData, "%s: data is not an object", e.Kind)
	}
	if e.Kind == "todo/write" {
		return s.inTurn(e)
	}
	return nil
}

// checkUnknown: skipped only when marked ignorable. See spec §2.1.
func checkUnknown(e Unknown, ignorable bool) error {
	switch {
	case !ignorable:
		return refuse(RuleType, "unknown event type %.40q, and it is not marked ignorable", e.Kind)
	case strings.TrimSpace(e.Kind) == "" || isCore(e.Kind) || isFeature(e.Kind):
		return refuse(RuleType, "%.40q is no unknown event type", e.Kind)
	case !isObject(e.Data):
		return refuse(RuleData, "%.40s: data is not an object", e.Kind)
	}
	return nil
}

// isObject reports whether data looks like an object; absent stands for {}.
func isObject(data []byte) bool {
	d := bytes.TrimSpace(data)
	return len(d) == 0 || d[0] == '{'
}
