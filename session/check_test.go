package session

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each case is a log that keeps the rules, then one event that breaks the named rule.
func TestRulesOfTheLogRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, log, event, rule string }{
		// §2.4.3.1, C-338
		{"a turn while one is open", "TS1", "TS2", "§2.4.3.1"},
		{"a first turn that is not number one", "", "TS2", "§2.4.3.1"},
		{"a turn number that was used", "TS1 TE(completed)", "TS1", "§2.4.3.1"},
		{"a turn number that skips one", "TS1 TE(completed)", "TS3", "§2.4.3.1"},
		// §2.4.3.2
		{"a step outside a turn", "", "SS1.1", "§2.4.3.2"},
		{"a step of another turn", "TS1", "SS2.1", "§2.4.3.2"},
		{"a step while one is open", opened, "SS1.2", "§2.4.3.2"},
		{"a first step that is not number one", "TS1", "SS1.2", "§2.4.3.2"},
		{"a step number that was used", "TS1 SS1.1 SE", "SS1.1", "§2.4.3.2"},
		{"the last turn's step numbers in a new turn", "TS1 SS1.1 SE TE(completed) TS2", "SS2.2", "§2.4.3.2"},
		// §2.4.3.3
		{"a chunk without an open step", "TS1", "CH×1", "§2.4.3.3"},
		{"a message without an open step", "TS1 SS1.1 SE", "AM", "§2.4.3.3"},
		{"an attempt without an open step", "TS1", "AA", "§2.4.3.3"},
		{"a tool call without an open step", "TS1", "TC(c1)", "§2.4.3.3"},
		{"a tool result without an open step", "TS1", "TR(c1)", "§2.4.3.3"},
		{"a system message without an open step", "TS1", "SYS(p)", "§2.4.3.3"},
		{"a step end without an open step", "TS1", "SE", "§2.4.3.3"},
		// §2.4.3.4, C-337
		{"a result of a call of an earlier step", "TS1 SS1.1 AM[c1] TC(c1) SE SS1.2", "TR(c1)", "§2.4.3.4"},
		{"a result without a call", opened, "TR(c1)", "§2.4.3.4"},
		{"a coded result without a call", opened, "TR!(c1,TOOL_OUTCOME_UNKNOWN)", "§2.4.3.4"},
		{"a second result of a call", opened + " TC(c1) TR(c1)", "TR(c1)", "§2.4.3.4"},
		{"a second start of a call", opened + " TC(c1)", "TC(c1)", "§2.4.3.4"},
		{"a replaced result outside a turn", "TS1 SS1.1 TC(c1) TR(c1) SE TE(completed)", "TR~3-3(c1)", "§2.4.3.4"},
		// §2.4.3.5
		{"a turn end with a step open", opened, "TE(completed)", "§2.4.3.5"},
		{"a turn end without a turn", "", "TE(completed)", "§2.4.3.5"},
		{"a second turn end", "TS1 TE(completed)", "TE(completed)", "§2.4.3.5"},
		// §2.4.3.6
		{"a header outside a turn", "", "RH(initial)", "§2.4.3.6"},
		{"a context outside a turn", "TS1 TE(completed)", "RC", "§2.4.3.6"},
		// §2.4.2, §8.3
		{"an unknown turn end", "TS1", "TE(bored)", RuleReason},
		{"an unknown cause", "TS1", "TE(aborted weather)", RuleReason},
		{"an unknown header reason", "TS1", "RH(whim)", RuleHeader},
		// §2.7
		{"a message without id", "", "UM()", RuleID},
		{"a call without id", opened, "TC()", RuleID},
		{"a call with an overlong id", opened, "TC(" + strings.Repeat("c", 201) + ")", RuleID},
		// §2.4.1
		{"an insert of a pending id", "IS+(next-turn:a)", "IS+(next-turn:a)", RuleInboxDuplicate},
		{"an insert of an id pending in the other list", "IS+(next-turn:a)", "IS+(next-step:a)", RuleInboxDuplicate},
		{"an insert of one id twice", "", "IS+(next-turn:a,a)", RuleInboxDuplicate},
		{"a claim of more than is pending", "IS+(next-turn:a)", "IS-(next-turn:2)", RuleInboxRange},
		{"a claim from the other list", "IS+(next-turn:a)", "IS-(next-step:1)", RuleInboxRange},
		{"a claim of nothing", "", "IS-(next-step:0)", RuleInboxNothing},
		{"a splice of an unknown list", "", "IS-(later:1)", RuleInboxTarget},
		// §2.1, C-331
		{"a replacement with an unknown start", "UM(a)", "UM~7-0(b)", RuleReplaceUnknown},
		{"a replacement with an unknown end", "UM(a)", "UM~0-7(b)", RuleReplaceUnknown},
		{"a replacement of a log-only event", "TS1 UM(a)", "UM~0-1(b)", RuleReplaceUnknown},
		{"a replacement of a shadowed node", "UM(a) UM~0-0(b)", "UM~0-0(c)", RuleReplaceUnknown},
		{"a replacement that starts after its end", "UM(a) UM(b)", "UM~1-0(c)", RuleReplaceOrder},
		{"a backward span after an earlier replacement", "UM(a) UM(b) UM~0-0(c)", "UM~1-2(d)", RuleReplaceOrder},
		// §9.4.5, C-333
		{"a result that replaces several", opened + " TC(c1) TR(c1) TC(c2) TR(c2)", "TR~3-5(c1)", RuleReplaceResult},
		{"a result that replaces a user message", opened + " UM(a) TC(c1) TR(c1)", "TR~2-2(c1)", RuleReplaceResult},
		{"a result that replaces another call's", opened + " TC(c1) TR(c1) TC(c2) TR(c2)", "TR~3-3(c2)", RuleReplaceResult},
		{"a result replacement that turns it into an error", opened + " TC(c1) TR(c1)", "TR!~3-3(c1)", RuleReplaceResult},
		{"a result replacement that adds a code", opened + " TC(c1) TR!(c1)", "TR!~3-3(c1,CODE)", RuleReplaceResult},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScribe(t, c.log)
			before := snapshot(s.log.State())
			requireRule(t, s.try(c.event), c.rule)
			require.Equal(t, before, snapshot(s.log.State()), "a refusal changes nothing")
			require.EqualValues(t, len(s.log.Records()), s.log.State().Count())
		})
	}
}

// snapshot is what a state shows.
func snapshot(s *State) map[string]any {
	turn, turnOpen := s.Turn()
	step, stepOpen := s.Step()
	return map[string]any{
		"count": s.Count(), "turn": turn, "turnOpen": turnOpen, "step": step, "stepOpen": stepOpen,
		"header": s.LastHeader(), "here": s.HeaderSinceAttach(), "context": s.LastContext(), "inbox": s.Inbox(),
		"surface": s.Surface(), "messages": s.Messages(), "rewritten": s.Rewritten(), "account": s.Account(),
		"repair": Repair(s),
	}
}

func TestRulesOfTheLogAccept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, log string }{
		{"input anywhere", "UM(a) IS+(next-step:x) TS1 UM(b) IS-(next-step:1) SS1.1 UM(c) SE UM(d) TE(completed) UM(e)"},
		{"an id again after it left the inbox", "IS+(next-turn:a) TS1 IS-(next-turn:1) IS+(next-step:a)"},
		{"an edit that keeps the id", "IS+(next-turn:a) ISr(next-turn:a→a)"},
		{"the repair result of a call that never started", opened + " AM[c1] TR!(c1,TOOL_NOT_STARTED)"},
		{"results in any order of their calls", opened + " TC(c1) TC(c2) TR(c2) TR(c1)"},
		{"a call id again in the next step", "TS1 SS1.1 TC(c1) TR(c1) SE SS1.2 TC(c1) TR(c1) SE"},
		{"a replaced result between steps", "TS1 SS1.1 TC(c1) TR(c1) SE TR~3-3(c1)"},
		{"a replaced result in a later turn", "TS1 SS1.1 TC(c1) TR(c1) SE TE(completed) TS2 UM(a) SS2.1 SE"},
		{"a header without an open step", "TS1 RH(initial) RC TE(error X)"},
		{"a turn without steps", "TS1 TE(blocked) TS2 TE(aborted hook why) TS3 TE(aborted disposed)"},
		{"two attempts in a step", opened + " CH×2 AA LR(1) LRS(1) CH×2 AM SE TE(completed)"},
		{"a cancel record anywhere", "CR(user) TS1 CR(parent) TE(aborted parent)"},
		{"a seed's end anywhere", "ES TS1 TE(completed) ES"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			newScribe(t, c.log)
		})
	}
}

// C-330
func TestSurfaceOpIsPresentOnMessagesAndForbiddenElsewhere(t *testing.T) {
	t.Parallel()
	log := newScribe(t, opened+" TC(c1)").log
	for _, e := range everyEvent() {
		r := NewRecord(1, e)
		rule := RuleSurfaceMissing
		if r.Surface = nil; !OnSurface(e) {
			r.Surface, rule = AppendOp(), RuleSurfaceForbidden
		}
		_, err := log.Append(r)
		var refused *RuleError
		require.ErrorAs(t, err, &refused, e.Type())
		if refused.Rule == RuleSurfaceForbidden || refused.Rule == RuleSurfaceMissing {
			require.Equal(t, rule, refused.Rule)
		}
	}
}

func TestEnvelopeRefuses(t *testing.T) {
	t.Parallel()
	um := func(sources ...int64) Record {
		r := NewRecord(1, UserMessage{user("u")})
		r.Sources = sources
		return r
	}
	sourced := NewRecord(1, TurnStart{Turn: 1})
	sourced.Sources = []int64{0}
	missing, forbidden := um(), NewRecord(1, TurnStart{Turn: 1})
	missing.Surface, forbidden.Surface = nil, AppendOp()
	uncited := um(0)
	uncited.Surface = ReplaceOp(0, 2)
	for _, c := range []struct {
		name string
		rec  Record
		rule string
	}{
		{"a surface event without surfaceOp", missing, RuleSurfaceMissing},
		{"a log-only event with surfaceOp", forbidden, RuleSurfaceForbidden},
		{"a source in the future", um(3), RuleSourcesFuture},
		{"a negative source", um(-1), RuleSourcesFuture},
		{"a source cited twice in a row", um(0, 0), RuleSourcesDuplicate},
		{"a source cited twice far apart", um(1, 0, 2, 1), RuleSourcesDuplicate},
		{"no sources spelled out on a user message", um([]int64{}...), RuleSourcesEmpty},
		{"sources on a log-only event", sourced, RuleSourcesForbidden},
		{"a replacement that cites not all it shadows", uncited, RuleReplaceUncited},
		{"no event", Record{}, RuleType},
		{"a pointer to an event", NewRecord(1, &TurnStart{Turn: 1}), RuleType},
		{"an unknown event that is not ignorable", NewRecord(1, Unknown{Kind: "x/y"}), RuleType},
		{"a core event in disguise", Record{Event: Unknown{Kind: "turn/start"}, Ignorable: true}, RuleType},
		{"a feature that is none", NewRecord(1, Feature{Kind: "turn/start"}), RuleType},
		{"a feature whose data is a list", NewRecord(1, Feature{Kind: "session/title", Data: json.RawMessage("[]")}), RuleData},
		{"a todo list outside a turn", NewRecord(1, Feature{Kind: "todo/write"}), "§2.4.3.6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			log := newScribe(t, "UM(a) UM(b) UM(c)").log
			if c.name == "no sources spelled out on a user message" {
				c.rec.Sources = []int64{}
			}
			_, err := log.Append(c.rec)
			requireRule(t, err, c.rule)
			require.Len(t, log.State().Surface(), 3)
		})
	}
}

// C-336
func TestOnlyAnAssistantMessageMaySayThatItsStreamWasEmpty(t *testing.T) {
	t.Parallel()
	s := newScribe(t, opened, "AM∅")
	last := s.log.Records()[2]
	require.NotNil(t, last.Sources)
	require.Empty(t, last.Sources)
}

func TestSeqMustBeTheNumberOfEventsBefore(t *testing.T) {
	t.Parallel()
	for _, seq := range []int64{-1, 1, 7} {
		r := NewRecord(1, UserMessage{user("a")})
		r.Seq = seq
		requireRule(t, NewState().Apply(r), RuleSeq)
	}
}

func TestARefusalNamesThePositionOfTheEvent(t *testing.T) {
	t.Parallel()
	var refused *RuleError
	require.ErrorAs(t, newScribe(t, "UM(a) UM(b)").try("IS-(next-turn:1)"), &refused) // C-041
	require.EqualValues(t, 2, refused.Seq)
	require.Contains(t, refused.Error(), "event 2: ")
}

func TestRolesAndShapesOfMessages(t *testing.T) {
	t.Parallel()
	wrong := user("x")
	wrong.Role = RoleAssistant
	nested := ToolResultBlock{ToolCallID: "c1", Content: Content{ToolResultBlock{ToolCallID: "c1"}}}
	for _, c := range []struct {
		name string
		e    Event
	}{
		{"a user message of the assistant", UserMessage{wrong}},
		{"an assistant message of the user", AssistantMessage{Turn: 1, Step: 1, Message: user("x")}},
		{"a system message of the user", SystemMessage{Turn: 1, Step: 1, Message: user("x")}},
		{"a pending message of the assistant", InboxSpliced{Target: NextTurn, Inserted: []Message{wrong}}},
		{"a tool result of the assistant", ToolResult{Turn: 1, Step: 1, Message: wrong}},
		{"a tool result without its block", ToolResult{Turn: 1, Step: 1, Message: user("x")}},
		{"a result within a result", ToolResult{Turn: 1, Step: 1, Message: Message{ID: "r", Role: RoleUser, Content: Content{nested}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := newScribe(t, opened+" TC(c1)").log.Append(NewRecord(1, c.e))
			requireRule(t, err, RuleMessage)
		})
	}
}

func TestCallIDsInAMessageFollowTheRuleOfIDs(t *testing.T) {
	t.Parallel()
	m := Message{ID: "m", Role: RoleAssistant, Content: Content{ToolCallBlock{ID: "a\nb"}}}
	_, err := newScribe(t, opened).log.Append(NewRecord(1, AssistantMessage{Turn: 1, Step: 1, Message: m}))
	requireRule(t, err, RuleID)
}

func TestAnAttemptCitesEarlierEventsOnce(t *testing.T) {
	t.Parallel()
	for _, seqs := range [][]int64{{2}, {0, 0}, {-1}} {
		_, err := newScribe(t, opened).log.Append(NewRecord(1, AssistantAttempt{Turn: 1, Step: 1, ChunkSeqs: seqs}))
		requireRule(t, err, RuleChunkSeqs)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for id, ok := range map[string]bool{
		"a": true, "日本": true, "a b": true, "": false, "a\x00": false, "tab\t": false, "\u0085": false, "\xff": false,
		strings.Repeat("é", 200): true, strings.Repeat("é", 201): false,
	} {
		require.Equal(t, ok, ValidID(id), "%q", id)
	}
}

// See spec §2.1: a bad payload is refused at append and changes nothing.
func TestPayloadsMustBeLosslessJSON(t *testing.T) {
	t.Parallel()
	nan, minusZero := math.NaN(), math.Copysign(0, -1)
	text := func(c ...Block) Event { return UserMessage{Message{ID: "u", Role: RoleUser, Content: c}} }
	chunk := func(c Chunk) Event { return AssistantChunk{Turn: 1, Step: 1, Chunk: c} }
	for name, e := range map[string]Event{
		"text that is not UTF-8":             text(Text{Text: "\xff"}),
		"a block that is nil":                text(nil),
		"a block that is a pointer":          text(&Text{}),
		"nested text that is not UTF-8":      text(ToolResultBlock{Content: Content{Text{Text: "\xff"}}}),
		"a temperature that is not a number": RequestHeader{Reason: HeaderInitial, Header: HeaderContent{Config: CallConfig{Temperature: &nan}}},
		"a temperature of minus zero":        RequestHeader{Reason: HeaderInitial, Header: HeaderContent{Config: CallConfig{Temperature: &minusZero}}},
		"a schema that is not JSON":          RequestHeader{Reason: HeaderInitial, Header: HeaderContent{Tools: []ToolSchema{{Parameters: json.RawMessage("{")}}}},
		"a chunk that is nil":                chunk(nil),
		"a chunk that is a pointer":          chunk(&TextDelta{}),
		"a delta that is not UTF-8":          chunk(TextDelta{Text: "\xff"}),
		"a thought that is not UTF-8":        chunk(ReasoningDelta{Text: "\xff"}),
		"arguments that are not UTF-8":       chunk(ToolCallDelta{ArgumentsDelta: "\xff"}),
		"a block end without block":          chunk(BlockEnd{}),
		"replay data that is not JSON":       chunk(Finish{Reason: FinishReason{Kind: FinishStop}, Replay: &ReplayState{Blocks: []json.RawMessage{[]byte("x")}}}),
		"minus zero in a feature's data":     Feature{Kind: "session/title", Data: json.RawMessage(`{"a":-0}`)},
		"a pending message that is not UTF-8": InboxSpliced{Target: NextTurn, Inserted: []Message{
			{ID: "u", Role: RoleUser, Content: TextContent("\xff")}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newScribe(t, opened).log.Append(NewRecord(1, e))
			requireRule(t, err, RuleData)
		})
	}
	_, err := newScribe(t, opened).log.Append(NewRecord(1, chunk(Finish{Reason: FinishReason{Kind: "bored"}})))
	requireRule(t, err, RuleFinish)
}

func TestNumbersThatADoubleCannotCarry(t *testing.T) {
	t.Parallel()
	for raw, ok := range map[string]bool{
		`{"a":0}`: true, `{"a":-1}`: true, `{"a":[0.5,-0.5,1e5,-1E-5]}`: true, `{"a":"-0"}`: true, `{"\"-0":"\\"}`: true,
		`[0.5e308]`: true, `[5e308]`: false,
		`{"a":-0}`: false, `[-0.0]`: false, `[-0e5]`: false, `[1e999]`: false, `[-1e999]`: false, `[-1e-999]`: false,
		"[" + strings.Repeat("9", 400) + "]": false, `{`: false, "\"\xff\"": false, "": true,
	} {
		err := losslessRaw([]byte(raw))
		require.Equal(t, ok, err == nil, "%.40q: %v", raw, err)
	}
}
