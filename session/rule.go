package session

import "fmt"

// A RuleError says which rule of the log an event breaks. Seq is the event's position, -1 where there is none yet.
// Rule is stable: a section of the spec ("§2.4.3.2") or one of the named rules below.
type RuleError struct {
	Seq  int64
	Rule string
	Msg  string
}

// Error names the position, what is wrong and the rule.
func (e *RuleError) Error() string {
	if e.Seq < 0 {
		return fmt.Sprintf("%s (rule %s)", e.Msg, e.Rule)
	}
	return fmt.Sprintf("event %d: %s (rule %s)", e.Seq, e.Msg, e.Rule)
}

// The rules that a section number alone does not tell apart.
const (
	RuleSeq       = "§2.1.seq"       // contiguous from 0
	RuleData      = "§2.1.data"      // lossless JSON
	RuleType      = "§2.1.type"      // a known type, or one marked ignorable
	RuleMessage   = "§2.3.message"   // role and shape of a message
	RuleFinish    = "§2.3.finish"    // known finish reason
	RuleHeader    = "§8.3.reason"    // known reason of a request header
	RuleChunkSeqs = "§2.4.chunkSeqs" // an attempt cites earlier events, once each
	RuleReason    = "§2.4.2"         // known end of a turn, with its fields
	RuleForm      = "§2.7.form"      // a line is one event in the encoding of logs
	RuleID        = "§2.7.id"        // 1–200 characters, none of them a control character

	RuleSurfaceMissing   = "surface.missing"             // a message without surfaceOp
	RuleSurfaceForbidden = "surface.forbidden"           // surfaceOp on a log-only event
	RuleReplaceUnknown   = "surface.replace.unknown"     // start or end is not on the surface
	RuleReplaceOrder     = "surface.replace.order"       // start comes after end
	RuleReplaceUncited   = "surface.replace.uncited"     // a shadowed node is not cited
	RuleReplaceResult    = "surface.replace.tool-result" // a result replaces one result and changes content only

	RuleSourcesForbidden = "sources.forbidden" // sources on a log-only event
	RuleSourcesEmpty     = "sources.empty"     // [] anywhere but on assistant/message
	RuleSourcesDuplicate = "sources.duplicate"
	RuleSourcesFuture    = "sources.future" // not smaller than the event's own seq

	RuleInboxTarget    = "inbox.target"    // unknown list
	RuleInboxRange     = "inbox.range"     // a splice that does not fit its list
	RuleInboxOutcome   = "inbox.outcome"   // outcome does not go with what was removed and inserted
	RuleInboxNothing   = "inbox.nothing"   // a splice or a move that changes nothing
	RuleInboxDuplicate = "inbox.duplicate" // a message id that is pending already, or that a move names twice
	RuleInboxUnknown   = "inbox.unknown"   // a move of a message that is not pending

	RuleOpenTurn        = "OPEN_TURN"        // fork inside an open turn, spec §7.3
	RuleInvalidBoundary = "INVALID_BOUNDARY" // fork at an event that does not exist, spec §7.3
)

// unplaced is the Seq of a refusal that concerns no event of a log.
const unplaced = -1

// refuse builds a refusal that has no position yet; [State.Apply] adds it.
func refuse(rule, format string, args ...any) error {
	return &RuleError{Seq: unplaced, Rule: rule, Msg: fmt.Sprintf(format, args...)}
}

// placed puts the position into a refusal.
func placed(err error, seq int64) error {
	if rule, ok := err.(*RuleError); ok {
		rule.Seq = seq
	}
	return err
}

// firstOf returns the first error.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
