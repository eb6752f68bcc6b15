package signals_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func ptr[T any](v T) *T { return &v }

// wire holds one value of every wire type, with every field set.
var wire = []any{
	signals.Create{Definition: "assistant", Title: "Review", Provider: "anthropic", Model: "claude-sonnet-4-5", ReasoningEffort: "high",
		MaxTokens: 4096, CWD: "/srv", Parent: "parent-1", First: &send, Owned: true, Bond: "1.child-7", Reports: true, Params: json.RawMessage(`{"repo":"x"}`), Sections: []signals.Section{section},
		Tools: &filter, Queue: "gpu", Metadata: map[string]string{"team": "blue"}, Resume: &signals.Resume{RunID: "run-1"}, Fork: &signals.Fork{Session: "sess-0", At: 22},
		ClientTools: []signals.ClientTool{clientTool}, Webhooks: []signals.Webhook{hook}, Budget: 1_000_000},
	clientTool,
	signals.Resume{RunID: "run-1"}, signals.Fork{Session: "sess-0", At: 22},
	send,
	signals.Cancel{RequestID: "r1", Cause: &session.Cause{Kind: session.CauseHook, Reason: "budget"}, KeepInbox: true, By: "ops", Text: "too slow", Bond: "1.child-7"},
	signals.Dispose{RequestID: "r1", Bond: "1.child-7"},
	signals.Remove{RequestID: "r1", ID: "m1", Revision: ptr(int64(3))},
	signals.Replace{RequestID: "r1", ID: "m1", With: signals.Send{ID: "m2", Text: "better"}, Revision: ptr(int64(3))},
	signals.Clear{RequestID: "r1", Revision: ptr(int64(3))},
	signals.Promote{RequestID: "r1", ID: "m1", Target: session.NextStep, Revision: ptr(int64(3))},
	signals.Reorder{RequestID: "r1", IDs: []string{"m2", "m1"}, Target: session.NextTurn, Revision: ptr(int64(3))},
	signals.Roll{RequestID: "r1"},
	decision, signals.Remember{Args: patterns, Any: true, UntilMS: 1764500000000}, rule,
	signals.Policy{RequestID: "r1", Mode: signals.PolicyAllowList, Allow: []signals.Rule{rule}, Revoke: []string{"rule-1"}, By: "ops", Reason: "night"},
	signals.Answers{RequestID: "r1", ID: "2.1.c2.answer", Answers: []signals.AnswerTo{answerTo}, By: "ops"}, answerTo, question, question.Options[0],
	signals.CallResult{RequestID: "r1", ID: "2.1.c2.result", Text: "done", Value: json.RawMessage(`{"ok":true}`), Content: session.TextContent("done"), Body: send.Body, IsError: true, By: "laptop"},
	signals.Plan{RequestID: "r1", On: true, By: "ops"},
	signals.Approvals{Policy: signals.PolicyAsk, Rules: []signals.Rule{rule}},
	signals.Maintain{RequestID: "r1", Task: "compact", Args: json.RawMessage(`{"keep":2}`)},
	signals.Spawn{RequestID: "r1", ID: "child-1", Create: signals.Create{Definition: "assistant", First: &signals.Send{Text: "look"}}, Follows: true},
	signals.ChildNews{ID: "child-1", Bond: "1.child-7", Closed: true, Hash: "ab", Count: 34},
	section,
	filter,
	hook,
	signals.Configure{RequestID: "r1", Title: signals.To("New"), Provider: signals.To("openai"), Model: signals.To("gpt"), ReasoningEffort: signals.Back[string](),
		MaxTokens: signals.Back[int](), Params: signals.To(map[string]json.RawMessage{"repo": json.RawMessage("null"), "n": json.RawMessage("1")}),
		Sections: signals.To([]signals.Section{section}), Tools: signals.To(filter), Queue: signals.Back[string](),
		Metadata:    signals.To(map[string]*string{"team": nil, "ticket": ptr("T-1")}),
		ClientTools: signals.To([]signals.ClientTool{clientTool}), Webhooks: signals.To([]signals.Webhook{hook}), Budget: signals.To(int64(1_000_000))},
	signals.Batch{RequestID: "r1", Acts: []signals.Act{act}},
	act,
	signals.Receipt{ID: "m1", Disposition: signals.Refused, Revision: 3, Seq: ptr(int64(7)), Found: ptr(true), Code: "INBOX_FULL", Message: "wait",
		Receipts: []signals.Receipt{{ID: "m2", Disposition: signals.Started, Revision: 4}},
		Result:   json.RawMessage(`{"ok":true}`), Failure: &session.Failure{Code: "UNKNOWN", Message: "no"}},
	signals.State{
		ID: "sess-1", Definition: "assistant", Title: "Review", Parent: "parent-1", Model: "scripted/demo", Status: "running", Turn: 2, Step: 1, Attempt: 3,
		Phase: "retry", Cancel: &session.Cause{Kind: session.CauseUser}, WaitingFor: "retry 2", Inbox: []signals.Pending{pending},
		Calls: []signals.CallState{call}, Deferred: []signals.Deferred{deferred}, Plan: true, Approvals: &signals.Approvals{Policy: signals.PolicyNever, Rules: []signals.Rule{rule}}, Children: []string{"child-1"}, Maintenance: &maintenance, Log: head, Revision: 4, IdleGeneration: 1,
		Spec: strings.Repeat("ef", 32), Queue: "gpu", Metadata: map[string]string{"team": "blue"}, Changing: true,
		Rules: 1, Manifest: "d0efebe3", LastError: &session.Failure{Code: "SERVER", Message: "overloaded", Status: 529, ProviderRetryAfterMS: 1000, RequestID: "q1"},
		Usage: &session.Usage{InputTokens: 812, OutputTokens: 40, CacheReadTokens: 6000, CacheWriteTokens: 200, ReasoningTokens: 12},
	},
	pending,
	call,
	head,
	maintenance,
	deferred,
	signals.Log{Head: head, Tail: []session.Record{{Seq: 9, Time: 1764500000000, Event: session.TurnStart{Turn: 2}}},
		Waiting: []session.Record{{Time: 1764500000001, Event: session.InboxMoved{Target: session.NextTurn, IDs: []string{"m3"}}}}, Revision: 4},
	signals.WhenIdle{After: ptr(int64(1))},
	signals.Idle{Idle: true, Generation: 2, Revision: 4, Retry: true},
	signals.MessageID{ID: "m1"},
	signals.MessageState{State: "ended", Turn: 2, Kind: session.TurnCompleted, Count: 34, Target: session.NextTurn, Step: 1, Consumed: true, Edited: true,
		Cause: session.Replaced, ReplacedBy: "m2", Reason: session.DropBlocked},
	signals.Await{ID: "sess-1", Message: "m1"},
	signals.Answer{Turn: 2, Outcome: session.TurnReason{Kind: session.TurnAborted, Aborted: &session.Cause{Kind: session.CauseUser}}, Text: "hello", Dropped: true},
}

var (
	patterns = signals.Patterns{{Arg: "path", Pattern: "docs/*"}, {Arg: "force", Pattern: "false"}}
	rule     = signals.Rule{ID: "rule-1", Tool: "deploy", Digest: strings.Repeat("cd", 32), Args: patterns, UntilMS: 1764500000000, By: "ops"}
	decision = signals.Decision{RequestID: "r1", ID: "2.1.c2", By: "ops", Reason: "fine", Digest: rule.Digest, Arguments: json.RawMessage(`{"to":"test"}`),
		Remember: &signals.Remember{Args: patterns, Any: true, UntilMS: 1764500000000}}
	question = signals.Question{ID: "q1", Text: "Where to?", Header: "target", Detail: "It is Friday.", Must: true, Options: []signals.Option{{Label: "test", Detail: "the test system"}}, Multi: true, Free: true}
	answerTo = signals.AnswerTo{ID: "q1", Selected: []string{"test"}, Text: "and soon", Skip: true}
	deferred = signals.Deferred{ID: "2.1.c2", CallID: "c2", Tool: "deploy", DueMS: 1764500000000, Kind: signals.WaitApproval, Digest: rule.Digest, Reason: "production",
		Arguments: `{"to":"prod"}`, Blob: send.Body, Questions: json.RawMessage(`[]`), Checking: true}

	clientTool = signals.ClientTool{Name: "open_url", Description: "Opens a page.", Parameters: json.RawMessage(`{"type":"object"}`), TimeoutMS: 60000, Parallel: true}
	hook       = signals.Webhook{URL: "https://hooks.example/agents", Events: []string{"approval.asked"}, Secret: "ops"}

	section = signals.Section{Name: "house", Order: 50, Text: "Be brief."}
	filter  = signals.ToolFilter{Allow: []string{"echo"}, Deny: []string{"shell"}}

	send = signals.Send{RequestID: "r1", ID: "m1", Text: "hello", Content: session.TextContent("hello"),
		Body:   &session.Artifact{SHA256: strings.Repeat("ab", 32), Bytes: 5000, MediaType: session.StoredContent},
		Source: &session.Source{Kind: session.SourcePlugin, Plugin: "ci"}, Target: session.NextStep, Wakeup: true, Overlap: signals.OverlapReject, OnlyIfIdle: true, ExpectedTurn: ptr(2)}
	act = signals.Act{Act: signals.Followup, Send: &signals.Send{Text: "hello"}, Cancel: &signals.Cancel{KeepInbox: true},
		Remove: &signals.Remove{ID: "m1"}, Replace: &signals.Replace{ID: "m1", With: signals.Send{Text: "better"}}, Clear: &signals.Clear{RequestID: "r2"},
		Promote: &signals.Promote{ID: "m1"}, Reorder: &signals.Reorder{IDs: []string{"m2", "m1"}}}
	pending     = signals.Pending{ID: "m3", Target: session.NextTurn, Bytes: 12}
	maintenance = signals.Maintenance{Request: "r1", Task: "compact", Done: true, Result: json.RawMessage(`{"ok":true}`),
		Failure: &session.Failure{Code: "ABORTED", Message: "cancelled"}}
	call = signals.CallState{ID: "c1", Name: "echo", State: "running"}
	head = signals.LogHead{Epoch: 1, Hash: strings.Repeat("cd", 32), Count: 8, Tail: 1, Waiting: 2, Lent: true, Problem: "disk full", StoreID: "store-1"}
)

func nameOf(v any) string { return reflect.TypeOf(v).Name() }

func TestEveryWireTypeKeepsItsJSON(t *testing.T) {
	t.Parallel()
	for _, v := range wire {
		t.Run(nameOf(v), func(t *testing.T) {
			t.Parallel()
			golden(t, nameOf(v), v)
			back := reflect.New(reflect.TypeOf(v))
			require.NoError(t, json.Unmarshal(read(t, nameOf(v)), back.Interface()))
			golden(t, nameOf(v), back.Elem().Interface())
		})
	}
}

// A value of the list that leaves a field empty would not pin the field's name.
func TestEveryWireValueSetsEveryField(t *testing.T) {
	t.Parallel()
	for _, v := range wire {
		rv := reflect.ValueOf(v)
		for i := range rv.NumField() {
			require.False(t, rv.Field(i).IsZero(), "%s.%s is empty", nameOf(v), rv.Type().Field(i).Name)
		}
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	t.Parallel()
	for _, v := range wire {
		raw := append([]byte(`{"fromTheFuture":{"a":[1,2]},`), bytes.TrimSpace(read(t, nameOf(v)))[1:]...)
		back := reflect.New(reflect.TypeOf(v))
		require.NoError(t, json.Unmarshal(raw, back.Interface()), nameOf(v))
		again, err := json.Marshal(back.Elem().Interface())
		require.NoError(t, err)
		require.JSONEq(t, string(read(t, nameOf(v))), string(again))
	}
}

func TestEveryGoldenFileHasAType(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "wire", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, len(wire))
}

// The names are the contract with callers in any language: a change here breaks them.
func TestTheNamesAreFixed(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"followup", "steer", "inject", "send", "cancel", "dispose", "inbox.remove", "inbox.replace", "inbox.clear", "inbox.promote", "inbox.reorder", "batch",
		"approve", "deny", "answer", "result", "policy", "plan", "maintain", "spawn", "configure", "roll"}, signals.Acts)
	require.Equal(t, "child", signals.ChildSays)
	require.Equal(t, "Await", signals.AwaitActivity)
	require.Equal(t, "EverturnAgent everturn state whenIdle log message", strings.Join([]string{signals.WorkflowType, signals.DefaultTaskQueue,
		signals.QueryState, signals.QueryWhenIdle, signals.QueryLog, signals.QueryMessage}, " "))
	require.Equal(t, "AgentStatus AgentDefinition AgentModel AgentTurn AgentParent AgentWaiting", strings.Join([]string{signals.AttrStatus,
		signals.AttrDefinition, signals.AttrModel, signals.AttrTurn, signals.AttrParent, signals.AttrWaiting}, " "))
	require.Equal(t, []int{4096, 1048576, 8388608, 65536, 100}, []int{signals.MaxInline, signals.MaxRaw, signals.MaxBody, signals.MaxRecorded, signals.MaxBatch})
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	raw = append(raw, '\n')
	if *update {
		require.NoError(t, os.WriteFile(path(name), raw, 0o644))
	}
	require.Equal(t, string(read(t, name)), string(raw), "fields are only added; run with -update if that is what you did")
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path(name))
	require.NoError(t, err)
	return raw
}

func path(name string) string { return filepath.Join("testdata", "wire", name+".json") }
