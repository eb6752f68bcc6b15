package signals_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/stretchr/testify/require"
)

func TestDecodeSend(t *testing.T) {
	t.Parallel()
	hello := signals.Send{Text: "hello", Target: session.NextTurn, Wakeup: true}
	tests := []struct {
		name, act, raw string
		want           signals.Send
		err            string
	}{
		{"an object", signals.Followup, `{"text":"hello"}`, hello, ""},
		{"a plain string", signals.Followup, `"hello"`, hello, ""},
		{"blanks around it", signals.Followup, " \n\t\"hello\" ", hello, ""},
		{"unknown fields", signals.Followup, `{"text":"hello","priority":9}`, hello, ""},
		{"a steer decides where", signals.Steer, `{"text":"hello","target":"next-turn"}`, signals.Send{Text: "hello", Target: session.NextStep, Wakeup: true}, ""},
		{"an inject never wakes", signals.Inject, `{"text":"hello","wakeup":true}`, signals.Send{Text: "hello", Target: session.NextStep}, ""},
		{"a send says all itself", signals.SendTo, `{"text":"hello","target":"next-step"}`, signals.Send{Text: "hello", Target: session.NextStep}, ""},
		{"blocks", signals.Followup, `{"content":[{"type":"text","text":"hello"}]}`,
			signals.Send{Content: session.TextContent("hello"), Target: session.NextTurn, Wakeup: true}, ""},

		{"nothing", signals.Followup, ``, signals.Send{}, "followup: set exactly one of text, content and body (0 are set)"},
		{"null", signals.Followup, `null`, signals.Send{}, "(0 are set)"},
		{"an empty string", signals.Followup, `""`, signals.Send{}, "(0 are set)"},
		{"two bodies", signals.Followup, `{"text":"a","content":[{"type":"text","text":"b"}]}`, signals.Send{}, "(2 are set)"},
		{"cut off", signals.Followup, `{"text":`, signals.Send{}, "followup: the payload is not what the act takes: unexpected end"},
		{"not JSON", signals.Steer, `hello`, signals.Send{}, "steer: the payload is not what the act takes: invalid character"},
		{"a number", signals.Followup, `42`, signals.Send{}, "cannot unmarshal number"},
		{"a list", signals.Followup, `["hello"]`, signals.Send{}, "cannot unmarshal array"},
		{"a wrong type inside", signals.Followup, `{"text":7}`, signals.Send{}, "text"},
		{"an unknown block", signals.Followup, `{"content":[{"type":"hologram"}]}`, signals.Send{}, "hologram"},
		{"invalid UTF-8", signals.Followup, "{\"text\":\"\xff\"}", signals.Send{}, "followup: the payload is not valid UTF-8"},
		{"invalid UTF-8 in a plain string", signals.Followup, "\"\xc3\x28\"", signals.Send{}, "not valid UTF-8"},
		{"no target", signals.SendTo, `{"text":"hello"}`, signals.Send{}, `send: target is "": use next-turn or next-step`},
		{"a wrong target", signals.SendTo, `{"text":"hello","target":"now"}`, signals.Send{}, `target is "now"`},
		{"a control character in the id", signals.Followup, `{"text":"a","id":"x\u0007"}`, signals.Send{}, "id must be 1–200 characters"},
		{"a long id", signals.Followup, `{"text":"a","id":"` + strings.Repeat("x", 201) + `"}`, signals.Send{}, "id must be 1–200 characters"},
		{"a long request id", signals.Followup, `{"text":"a","requestId":"` + strings.Repeat("x", 201) + `"}`, signals.Send{}, "requestId must be"},
		{"a body without a hash", signals.Followup, `{"body":{"sha256":"","bytes":5}}`, signals.Send{}, "body must name a stored object"},
		{"a body too large", signals.Followup, fmt.Sprintf(`{"body":{"sha256":"ab","bytes":%d}}`, signals.MaxBody+1), signals.Send{}, "at most 8388608 bytes"},
		{"a block that stands for a body", signals.Followup, `{"content":[{"type":"artifact","sha256":"ab","bytes":5,"mediaType":"` + session.StoredContent + `"}]}`,
			signals.Send{}, "use body"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := signals.DecodeSend(tt.act, []byte(tt.raw))
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestAnOverlapGoesWithTheAct(t *testing.T) {
	t.Parallel()
	turn, step := session.NextTurn, session.NextStep
	for _, tt := range []struct{ act, fields, target, err string }{
		{signals.Followup, `"overlap":"queue"`, turn, ""},
		{signals.Followup, `"overlap":"steer"`, step, ""},
		{signals.Followup, `"overlap":"interrupt"`, turn, ""},
		{signals.Followup, `"overlap":"reject"`, turn, ""},
		{signals.Followup, `"overlap":"reject","onlyIfIdle":true`, turn, ""},
		{signals.Followup, `"onlyIfIdle":true,"expectedTurn":0`, turn, ""},
		{signals.Steer, `"overlap":"steer","expectedTurn":3`, step, ""},
		{signals.Inject, `"onlyIfIdle":true`, step, ""},
		{signals.SendTo, `"overlap":"steer"`, step, ""},
		{signals.SendTo, `"overlap":"interrupt","target":"next-turn"`, turn, ""},
		{signals.SendTo, `"overlap":"reject"`, turn, ""},
		{signals.SendTo, `"overlap":"reject","target":"next-step"`, step, ""},

		{signals.Followup, `"overlap":"push"`, "", `followup: overlap is "push": use queue, steer, interrupt or reject`},
		{signals.Followup, `"overlap":"queue","onlyIfIdle":true`, "", "followup: overlap queue is for a busy agent, but onlyIfIdle refuses then"},
		{signals.Followup, `"expectedTurn":-1`, "", "followup: expectedTurn is -1"},
		{signals.Followup, `"expectedTurn":"3"`, "", "followup: the payload is not what the act takes"},
		{signals.Steer, `"overlap":"queue"`, "", "steer: overlap is queue, but a steer joins the running turn: use followup"},
		{signals.Steer, `"overlap":"reject"`, "", "steer: overlap is reject"},
		{signals.Inject, `"overlap":"steer"`, "", "inject: overlap is steer, but an inject wakes nobody"},
		{signals.SendTo, `"overlap":"steer","target":"next-turn"`, "", "send: overlap steer goes to next-step, but target is next-turn: leave the target out"},
	} {
		got, err := signals.DecodeSend(tt.act, []byte(`{"text":"a",`+tt.fields+`}`))
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err, tt.fields)
			continue
		}
		require.NoError(t, err, tt.fields)
		require.Equal(t, tt.target, got.Target, tt.fields)
		require.Equal(t, tt.act != signals.Inject, got.Wakeup, tt.fields)
	}
}

func TestTheSizeOfAMessageIsBounded(t *testing.T) {
	t.Parallel()
	raw := func(n int) []byte { return []byte(`"` + strings.Repeat("a", n) + `"`) }
	got, err := signals.DecodeSend(signals.Followup, raw(signals.MaxRaw))
	require.NoError(t, err)
	require.Equal(t, signals.MaxRaw, got.Size())
	_, err = signals.DecodeSend(signals.Followup, raw(signals.MaxRaw+1))
	require.ErrorContains(t, err, "the message is 1048577 bytes; at most 1048576 fit into a signal")
	stored := fmt.Sprintf(`{"body":{"sha256":"ab","bytes":%d}}`, signals.MaxBody)
	got, err = signals.DecodeSend(signals.Followup, []byte(stored))
	require.NoError(t, err)
	require.Equal(t, signals.MaxBody, got.Size())
}

func TestASendBecomesAMessage(t *testing.T) {
	t.Parallel()
	m := signals.Send{Text: "hello"}.Message("made-up")
	require.Equal(t, session.Message{ID: "made-up", Role: session.RoleUser, Content: session.TextContent("hello"), Source: session.Source{Kind: session.SourceUser}}, m)
	m = signals.Send{ID: "mine", Body: &session.Artifact{SHA256: "ab", Bytes: 9, MediaType: "text/plain"}}.Message("made-up")
	require.Equal(t, "mine", m.ID)
	require.Equal(t, session.Content{session.Artifact{SHA256: "ab", Bytes: 9, MediaType: session.StoredContent}}, m.Content)
}

func TestDecodeCancel(t *testing.T) {
	t.Parallel()
	user, parent := &session.Cause{Kind: session.CauseUser}, &session.Cause{Kind: session.CauseParent}
	tests := []struct {
		name, raw string
		want      signals.Cancel
		err       string
	}{
		{"nothing", ``, signals.Cancel{Cause: user}, ""},
		{"null", `null`, signals.Cancel{Cause: user}, ""},
		{"an empty object", `{}`, signals.Cancel{Cause: user}, ""},
		{"a cause as a string", `"parent"`, signals.Cancel{Cause: parent}, ""},
		{"everything", `{"requestId":"r","cause":{"kind":"hook","reason":"budget"},"keepInbox":true,"by":"ops","text":"why"}`,
			signals.Cancel{RequestID: "r", Cause: &session.Cause{Kind: session.CauseHook, Reason: "budget"}, KeepInbox: true, By: "ops", Text: "why"}, ""},
		{"unknown fields", `{"force":true}`, signals.Cancel{Cause: user}, ""},
		{"disposal has its own act", `"disposed"`, signals.Cancel{}, "to end the agent, use dispose"},
		{"an unknown cause", `{"cause":{"kind":"boredom"}}`, signals.Cancel{}, `cause "boredom" is unknown: use user, parent or hook`},
		{"free text", `please stop`, signals.Cancel{}, "cancel: the payload is not what the act takes"},
		{"a list", `[]`, signals.Cancel{}, "cannot unmarshal array"},
		{"invalid UTF-8", "\"\xff\"", signals.Cancel{}, "not valid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := signals.DecodeCancel([]byte(tt.raw))
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestDecodeEdits(t *testing.T) {
	t.Parallel()
	decoders := map[string]func([]byte) (any, error){
		"remove":  func(raw []byte) (any, error) { return decoded(signals.DecodeRemove(raw)) },
		"replace": func(raw []byte) (any, error) { return decoded(signals.DecodeReplace(raw)) },
		"roll":    func(raw []byte) (any, error) { return decoded(signals.DecodeRoll(raw)) },
		"clear":   func(raw []byte) (any, error) { return decoded(signals.DecodeClear(raw)) },
		"promote": func(raw []byte) (any, error) { return decoded(signals.DecodePromote(raw)) },
		"reorder": func(raw []byte) (any, error) { return decoded(signals.DecodeReorder(raw)) },
		"dispose": func(raw []byte) (any, error) { return decoded(signals.DecodeDispose(raw)) },
	}
	better := signals.Send{Text: "better", Target: session.NextTurn}
	tests := []struct {
		act, raw string
		want     any
		err      string
	}{
		{"remove", `{"id":"m1"}`, signals.Remove{ID: "m1"}, ""},
		{"remove", `"m1"`, signals.Remove{ID: "m1"}, ""},
		{"remove", `{"id":"m1","all":true}`, signals.Remove{ID: "m1"}, ""},
		{"remove", ``, nil, "inbox.remove: id is missing"},
		{"remove", `""`, nil, "id is missing"},
		{"remove", `{"id":7}`, nil, "inbox.remove: the payload is not what the act takes"},
		{"remove", "\"\xff\"", nil, "not valid UTF-8"},
		{"replace", `{"id":"m1","with":{"text":"better"}}`, signals.Replace{ID: "m1", With: better}, ""},
		{"replace", `{"id":"m1"}`, nil, "inbox.replace: set exactly one of text, content and body (0 are set)"},
		{"replace", `{"with":{"text":"better"}}`, nil, "id is missing"},
		{"replace", `"m1"`, nil, "inbox.replace: the payload is not what the act takes"},
		{"roll", ``, signals.Roll{}, ""},
		{"roll", `{"requestId":"r"}`, signals.Roll{RequestID: "r"}, ""},
		{"roll", `[]`, nil, "roll: "},
		{"clear", ``, signals.Clear{}, ""},
		{"clear", `{}`, signals.Clear{}, ""},
		{"clear", `[]`, nil, "inbox.clear: the payload is not what the act takes"},
		{"clear", `{"revision":4}`, signals.Clear{Revision: ptr(int64(4))}, ""},
		{"replace", `{"id":"m1","with":{"text":"better","onlyIfIdle":true}}`, nil, "or use revision"},
		{"replace", `{"id":"m1","with":{"text":"better","overlap":"queue"}}`, nil, "leave them out"},
		{"promote", `{"id":"m1","target":"next-step","revision":0}`, signals.Promote{ID: "m1", Target: session.NextStep, Revision: ptr(int64(0))}, ""},
		{"promote", `"m1"`, signals.Promote{ID: "m1"}, ""},
		{"promote", ``, nil, "inbox.promote: id is missing"},
		{"promote", `{"id":"m1","target":"top"}`, nil, `inbox.promote: target is "top": use next-turn or next-step, or leave it out`},
		{"promote", `{"id":"m1","revision":"4"}`, nil, "inbox.promote: the payload is not what the act takes"},
		{"promote", `[1]`, nil, "inbox.promote: the payload is not what the act takes"},
		{"reorder", `["b","a"]`, signals.Reorder{IDs: []string{"b", "a"}}, ""},
		{"reorder", `{"ids":["b","a"],"target":"next-turn","revision":4}`,
			signals.Reorder{IDs: []string{"b", "a"}, Target: session.NextTurn, Revision: ptr(int64(4))}, ""},
		{"reorder", ``, nil, "inbox.reorder: ids must have 1–1000 entries, got 0"},
		{"reorder", `[]`, nil, "got 0"},
		{"reorder", `["` + strings.Repeat(`x","`, signals.MaxReorder) + `x"]`, nil, "got 1001"},
		{"reorder", `["b","b"]`, nil, "inbox.reorder: id 2 must be 1–200 characters without control characters, and named once"},
		{"reorder", `["b",""]`, nil, "id 2 must be"},
		{"reorder", `"b"`, nil, "inbox.reorder: the payload is not what the act takes"},
		{"reorder", `{"ids":["b"],"target":"x"}`, nil, `target is "x"`},
		{"dispose", `null`, signals.Dispose{}, ""},
		{"dispose", `{"requestId":"r"}`, signals.Dispose{RequestID: "r"}, ""},
		{"dispose", `now`, nil, "dispose: the payload is not what the act takes"},
	}
	for _, tt := range tests {
		t.Run(tt.act+" "+tt.raw, func(t *testing.T) {
			t.Parallel()
			got, err := decoders[tt.act]([]byte(tt.raw))
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func decoded[T any](v T, err error) (any, error) { return v, err }

func TestDecodeBatch(t *testing.T) {
	t.Parallel()
	got, err := signals.DecodeBatch([]byte(`{"requestId":"b","acts":[
		{"act":"followup","send":{"text":"a"}}, {"act":"steer","send":{"text":"b"}}, {"act":"cancel"}, {"act":"inbox.clear"},
		{"act":"inbox.remove","remove":{"id":"m1"}}, {"act":"inbox.replace","replace":{"id":"m1","with":{"text":"c"}}},
		{"act":"inbox.promote","promote":{"id":"m1"}}, {"act":"inbox.reorder","reorder":{"ids":["b","a"]}}, {"act":"followup","send":{"text":"d","overlap":"interrupt"}}]}`))
	require.NoError(t, err)
	require.Equal(t, "b", got.RequestID)
	require.Equal(t, &signals.Send{Text: "a", Target: session.NextTurn, Wakeup: true}, got.Acts[0].Send)
	require.Equal(t, &signals.Send{Text: "b", Target: session.NextStep, Wakeup: true}, got.Acts[1].Send)
	require.Equal(t, session.CauseUser, got.Acts[2].Cancel.Cause.Kind)
	require.NotNil(t, got.Acts[3].Clear)
	require.Equal(t, session.NextTurn, got.Acts[5].Replace.With.Target)
	require.Equal(t, "m1", got.Acts[6].Promote.ID)
	require.Equal(t, []string{"b", "a"}, got.Acts[7].Reorder.IDs)
	require.Equal(t, signals.OverlapInterrupt, got.Acts[8].Send.Overlap)
}

func TestDecodeBatchNamesTheActThatIsWrong(t *testing.T) {
	t.Parallel()
	many := `{"acts":[` + strings.TrimSuffix(strings.Repeat(`{"act":"inbox.clear"},`, signals.MaxBatch+1), ",") + `]}`
	tests := []struct{ name, raw, want string }{
		{"nothing", ``, "batch: acts must have 1–100 entries, got 0"},
		{"no acts", `{"acts":[]}`, "got 0"},
		{"too many", many, "got 101"},
		{"no payload", `{"acts":[{"act":"inbox.clear"},{"act":"followup"}]}`, "batch: act 2: followup: send is missing"},
		{"a wrong payload", `{"acts":[{"act":"send","send":{"text":"a"}}]}`, "batch: act 1: send: target is"},
		{"no id", `{"acts":[{"act":"inbox.remove"}]}`, "inbox.remove: remove.id is missing"},
		{"nothing to replace", `{"acts":[{"act":"inbox.replace","replace":{}}]}`, "replace.id is missing"},
		{"nothing to promote", `{"acts":[{"act":"inbox.promote"}]}`, "inbox.promote: promote is missing"},
		{"nothing to reorder", `{"acts":[{"act":"inbox.reorder"}]}`, "inbox.reorder: reorder is missing"},
		{"a wrong reorder", `{"acts":[{"act":"inbox.reorder","reorder":{"ids":[]}}]}`, "got 0"},
		{"a wrong overlap", `{"acts":[{"act":"steer","send":{"text":"a","overlap":"queue"}}]}`, "batch: act 1: steer: overlap is queue"},
		{"a wrong cause", `{"acts":[{"act":"cancel","cancel":{"cause":{"kind":"x"}}}]}`, `cause "x" is unknown`},
		{"an unknown act", `{"acts":[{"act":"explode"}]}`, `batch: act 1: unknown act "explode"`},
		{"disposal", `{"acts":[{"act":"dispose"}]}`, `unknown act "dispose"`},
		{"a batch in a batch", `{"acts":[{"act":"batch"}]}`, `unknown act "batch"`},
		{"a string", `"followup"`, "batch: the payload is not what the act takes"},
		{"invalid UTF-8", "{\"acts\":[{\"act\":\"\xff\"}]}", "not valid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := signals.DecodeBatch([]byte(tt.raw))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// Whatever is accepted is complete: a second look finds nothing to change.
func FuzzDecodeSend(f *testing.F) {
	for _, raw := range []string{``, `null`, `"hello"`, `{"text":"hello"}`, `{"content":[{"type":"text","text":"a"}],"id":"m"}`, `{"body":{"sha256":"ab","bytes":5}}`,
		`[`, "\"\xff\"", `{"text":"a","source":{"kind":"plugin","plugin":"p"}}`, `{"bytes":-1}`} {
		for n := range signals.Acts[:4] {
			f.Add(n, []byte(raw))
		}
	}
	f.Fuzz(func(t *testing.T, n int, raw []byte) {
		act := signals.Acts[:4][uint(n)%4]
		s, err := signals.DecodeSend(act, raw)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), act+": "), err.Error())
			return
		}
		again, err := json.Marshal(s)
		require.NoError(t, err)
		back, err := signals.DecodeSend(act, again)
		require.NoError(t, err)
		require.Equal(t, s.Message("id"), back.Message("id"))
		require.Equal(t, [2]any{s.Target, s.Wakeup}, [2]any{back.Target, back.Wakeup})
	})
}

func FuzzDecodeBatch(f *testing.F) {
	for _, raw := range []string{``, `{"acts":[{"act":"followup","send":{"text":"a"}},{"act":"cancel"}]}`, `{"acts":[{"act":"inbox.replace","replace":{"id":"m","with":{"text":"b"}}}]}`,
		`{"acts":[{}]}`, `{"acts":null}`, `{"acts":[{"act":"inbox.clear"},{"act":"inbox.remove","remove":{"id":"m"}}]}`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := signals.DecodeBatch(raw)
		if err != nil {
			return
		}
		again, err := json.Marshal(b)
		require.NoError(t, err)
		_, err = signals.DecodeBatch(again)
		require.NoError(t, err)
	})
}

// What a person types into the signal form of the Temporal UI.
func ExampleDecodeSend() {
	for _, typed := range []string{`"hello"`, `{"text": "hello", "id": "m1"}`, `hello`} {
		s, err := signals.DecodeSend(signals.Followup, []byte(typed))
		fmt.Println(s.Text, s.Target, err)
	}
	// Output:
	// hello next-turn <nil>
	// hello next-turn <nil>
	//   followup: the payload is not what the act takes: invalid character 'h' looking for beginning of value
}

func TestDecodeSpawn(t *testing.T) {
	t.Parallel()
	first := &signals.Send{Text: "look", Target: session.NextTurn, Wakeup: true}
	tests := []struct {
		name, raw string
		want      signals.Spawn
		err       string
	}{
		{"a plain string is the first message", `"look"`, signals.Spawn{Create: signals.Create{First: first}}, ""},
		{"an object", `{"id":"k","follows":true,"create":{"definition":"kid","first":{"text":"look"}}}`,
			signals.Spawn{ID: "k", Follows: true, Create: signals.Create{Definition: "kid", First: first}}, ""},
		{"nothing is a child like its parent that waits", ``, signals.Spawn{}, ""},
		{"a first message without a body", `{"create":{"first":{}}}`, signals.Spawn{}, "spawn: create.first: followup: set exactly one of text, content and body (0 are set)"},
		{"an empty string", `""`, signals.Spawn{}, "create.first: followup: set exactly one"},
		{"a number", `7`, signals.Spawn{}, "spawn: the payload is not what the act takes: json: cannot unmarshal number"},
		{"cut off", `{"create":`, signals.Spawn{}, "unexpected end"},
		{"an id that is none", `{"id":"a\u0000b"}`, signals.Spawn{}, "spawn: id must be 1–200 characters"},
		{"another parent", `{"create":{"parent":"p"}}`, signals.Spawn{}, "set by the parent itself: leave them out"},
		{"a bond of one's own", `{"create":{"bond":"1.child-1"}}`, signals.Spawn{}, "set by the parent itself: leave them out"},
		{"a session that is there already", `{"create":{"resume":{}}}`, signals.Spawn{}, "a child is a new session"},
		{"a long title", `{"create":{"title":"` + strings.Repeat("x", signals.MaxCreate) + `"}}`, signals.Spawn{}, "more than 16384"},
		{"not text", "\"\xff\"", signals.Spawn{}, "not valid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := signals.DecodeSpawn([]byte(tt.raw))
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestDecodeChildNews(t *testing.T) {
	t.Parallel()
	got, err := signals.DecodeChildNews([]byte(`{"id":"k","bond":"1.child-1","hash":"ab","count":7}`))
	require.NoError(t, err)
	require.Equal(t, signals.ChildNews{ID: "k", Bond: "1.child-1", Hash: "ab", Count: 7}, got)
	for _, raw := range []string{``, `{}`, `"k"`, `[]`} {
		_, err := signals.DecodeChildNews([]byte(raw))
		require.Error(t, err, raw)
	}
}
