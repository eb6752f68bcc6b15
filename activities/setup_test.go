package activities

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

func (b *bench) birth() work.SetupIn {
	return work.SetupIn{Ident: work.Ident{Session: sess, Definition: agent, Epoch: 1}, Spec: work.Spec{Definition: agent}, CreatedAt: 7}
}

func TestSetupGivesBirth(t *testing.T) { // §6.1, A3.12
	t.Parallel()
	b := newBench(t)
	in := b.birth()
	in.Spec.CWD, in.Spec.Model = "/somewhere", "other"
	out, err := b.a.Setup(b.ctx, in)
	require.NoError(t, err)
	require.Equal(t, b.store.ID(), out.Store)
	require.Equal(t, "scripted/other", out.Model)
	require.Equal(t, plugin.DefaultMaxParallelTools, out.Manifest.MaxParallel)
	require.Equal(t, work.Worker{Rules: work.Rules, Manifest: out.Manifest.Digest}, out.Worker)
	h, err := b.store.Header(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, session.Header{Version: 1, ID: sess, CreatedAt: 7, CWD: "/somewhere", AgentPreset: agent}, h)
	raw, err := b.store.Blob(t.Context(), out.Spec)
	require.NoError(t, err)
	var spec work.Spec
	require.NoError(t, json.Unmarshal(raw, &spec))
	require.Equal(t, in.Spec, spec)

	again, err := b.a.Setup(b.ctx, in) // as a retried activity
	require.NoError(t, err)
	require.Equal(t, out, again)
}

func TestAChildKnowsItsDepth(t *testing.T) { // §6.4
	t.Parallel()
	b := newBench(t)
	require.NoError(t, b.store.PutHeader(t.Context(), session.Header{Version: 1, ID: "parent", DelegationDepth: 2}))
	in := b.birth()
	in.Spec.Parent = "parent"
	_, err := b.a.Setup(b.ctx, in)
	require.NoError(t, err)
	h, err := b.store.Header(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, "parent", h.ParentSession)
	require.Equal(t, "subagent", h.Origin)
	require.Equal(t, 3, h.DelegationDepth)

	orphan := newBench(t)
	in = orphan.birth()
	in.Spec.Parent = "elsewhere" // in another store
	_, err = orphan.a.Setup(orphan.ctx, in)
	require.NoError(t, err)
	h, err = orphan.store.Header(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, 1, h.DelegationDepth)
}

func TestSetupRefusesWhatCannotWork(t *testing.T) { // C-100, C-287
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*bench, *work.SetupIn)
		kind   string
		says   string
	}{
		"definition":      {func(_ *bench, in *work.SetupIn) { in.Ident.Definition = "nobody" }, work.ErrUnknownDefinition, "which knows tester"},
		"max tokens":      {func(_ *bench, in *work.SetupIn) { in.Spec.MaxTokens = -1 }, work.ErrInvalidSpec, "maxTokens is -1"},
		"provider":        {func(_ *bench, in *work.SetupIn) { in.Spec.Provider = "nobody" }, work.ErrInvalidSpec, "which has scripted"},
		"params":          {func(_ *bench, in *work.SetupIn) { in.Spec.Params = json.RawMessage("{") }, work.ErrInvalidSpec, "params"},
		"session id":      {func(_ *bench, in *work.SetupIn) { in.Ident.Session = "a\nb" }, "", "control characters"},
		"store":           {func(_ *bench, in *work.SetupIn) { in.Ident.Store = "x" }, "", "another store"},
		"epoch of others": {func(b *bench, _ *work.SetupIn) { _ = b.store.ClaimEpoch(context.Background(), sess, 1, "somebody") }, work.ErrFenced, "somebody"},
		"taken id": {func(b *bench, in *work.SetupIn) {
			_ = b.store.PutHeader(context.Background(), session.Header{Version: 1, ID: sess, CreatedAt: 1})
		}, work.ErrInvalidSpec, "exists in this store already"},
		"a child too deep": {func(b *bench, in *work.SetupIn) {
			_ = b.store.PutHeader(context.Background(), session.Header{Version: 1, ID: "deep", ParentSession: "p", Origin: "subagent", DelegationDepth: MaxDelegationDepth})
			in.Spec.Parent = "deep"
		}, work.ErrInvalidSpec, "at most 16"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			in := b.birth()
			c.change(b, &in)
			_, err := b.a.Setup(b.ctx, in)
			require.ErrorContains(t, err, c.says)
			var refusal *Refusal
			if c.kind == "" {
				return
			}
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, c.kind, refusal.Kind)
		})
	}
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	registry, err := llm.NewRegistry()
	require.NoError(t, err)
	st, err := store.Open(t.Context(), "mem://", store.Options{})
	require.NoError(t, err)
	d := &plugin.Definition{Name: "d"}
	for says, c := range map[string]Config{
		"Store and Registry are required": {},
		"a definition is nil":             {Store: st, Registry: registry, Definitions: []*plugin.Definition{nil}},
		"definition: Name is empty":       {Store: st, Registry: registry, Definitions: []*plugin.Definition{{}}},
		`two definitions are named "d"`:   {Store: st, Registry: registry, Definitions: []*plugin.Definition{d, d}},
	} {
		_, err := New(c)
		require.ErrorContains(t, err, says)
	}
}

func TestTheDigestFollowsTheDefinition(t *testing.T) { // A3.12
	t.Parallel()
	digest := func(d plugin.Definition) string {
		d.Name = "d"
		k, err := newKind(&d)
		require.NoError(t, err)
		return k.manifest.Digest
	}
	base := digest(plugin.Definition{})
	require.Equal(t, base, digest(plugin.Definition{}))
	for name, d := range map[string]plugin.Definition{
		"sections":  {Sections: []plugin.Section{{Name: "s"}}},
		"tools":     {Tools: []*tools.Tool{echoTool()}},
		"traits":    {Tools: []*tools.Tool{echoTool(tools.WithEffect(tools.Pure))}},
		"parallel":  {MaxParallelTools: 3},
		"route":     {Model: "m"},
		"variables": {Variables: map[string]plugin.Variable{"v": nil}},
		"contexts":  {Contexts: []plugin.RuntimeContext{{Name: "c"}}},
	} {
		require.NotEqual(t, base, digest(d), name)
	}
	m, err := newBench(t).a.Manifest(agent)
	require.NoError(t, err)
	require.Equal(t, work.Rules, m.Rules)
	_, err = newBench(t).a.Manifest("nobody")
	require.Error(t, err)
}

func TestPersistWritesTheTail(t *testing.T) { // A3.2
	t.Parallel()
	b := newBench(t)
	big := msg("a", "")
	spilled, err := b.a.Spill(b.ctx, work.SpillIn{Ident: b.ident(), Content: session.TextContent("the whole body")})
	require.NoError(t, err)
	big.Content = session.Content{spilled.Blob}
	b.log(session.InboxSpliced{Target: session.NextTurn, Inserted: []session.Message{big}})
	for _, publish := range []bool{false, true} {
		in := work.PersistIn{Ident: b.ident(), Head: b.head, Tail: b.tail, Publish: publish}
		out, err := b.a.Persist(b.ctx, in)
		require.NoError(t, err)
		require.Equal(t, work.EchoOf(in.Head.Count, in.Tail), out.Echo)
		b.head, b.tail = out.Head, nil
		_, head, err := b.store.LatestHead(t.Context(), sess)
		if !publish {
			require.ErrorIs(t, err, store.ErrNotFound)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, store.Head(b.head), head)
	}
	require.Equal(t, "the whole body", b.fold().Inbox().NextTurn[0].Text())
}

func TestPersistPassesFaultsOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.send("a")
	b.faults.Down(nil)
	_, err := b.a.Persist(b.ctx, work.PersistIn{Ident: b.ident(), Tail: b.tail})
	require.Error(t, err)
	_, err = b.a.Spill(b.ctx, work.SpillIn{Content: session.TextContent("x")})
	require.Error(t, err)
}

func TestASpilledBodyIsLookedAt(t *testing.T) { // A3.4
	t.Parallel()
	b := newBench(t)
	stored := func(data string) session.Content {
		ref, err := b.store.PutBlob(t.Context(), []byte(data), work.ContentMediaType)
		require.NoError(t, err)
		return session.Content{ref}
	}
	for name, c := range map[string]struct {
		content session.Content
		code    string
	}{
		"text":             {session.TextContent("x"), ""},
		"a stored body":    {stored(`[{"type":"text","text":"x"}]`), ""},
		"nothing":          {nil, work.SpillInvalid},
		"no valid text":    {session.TextContent("\xff"), work.SpillInvalid},
		"no content":       {stored(`"x"`), work.SpillInvalid},
		"an empty body":    {stored(`[]`), work.SpillInvalid},
		"somewhere else":   {session.Content{session.Artifact{SHA256: strings.Repeat("0", 64), MediaType: work.ContentMediaType}}, work.SpillMissing},
		"another artifact": {session.Content{session.Artifact{SHA256: "1", MediaType: "image/png"}}, ""},
	} {
		out, err := b.a.Spill(b.ctx, work.SpillIn{Ident: b.ident(), Content: c.content})
		require.NoError(t, err, name)
		require.Equal(t, c.code, out.Code, name)
	}
}

func TestABodyThatIsLostFailsItsStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := msg("a", "")
	m.Content = session.Content{session.Artifact{SHA256: strings.Repeat("0", 64), MediaType: work.ContentMediaType}}
	b.log(session.InboxSpliced{Target: session.NextTurn, Inserted: []session.Message{m}})
	b.openTurn()
	out := b.next()
	require.Equal(t, work.StepFailed, out.Outcome)
	require.Equal(t, work.CodeStore, out.Failure.Code)
}

func TestHydrateLeavesOtherRecordsAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var read session.Record
	require.NoError(t, json.Unmarshal([]byte(`{"seq":0,"time":1,"type":"turn/start","data":{"turn":1,"extra":true}}`), &read))
	out, err := b.store.Hydrate(t.Context(), []session.Record{read})
	require.NoError(t, err)
	raw, err := json.Marshal(out[0])
	require.NoError(t, err)
	require.Contains(t, string(raw), "extra")

	missing := msg("a", "")
	missing.Content = session.Content{session.Artifact{SHA256: "00", MediaType: work.ContentMediaType}}
	_, err = b.store.Hydrate(t.Context(), []session.Record{session.NewRecord(0, session.UserMessage{Message: missing})})
	require.ErrorContains(t, err, "message a")
}

// history answers with what it holds.
type history struct {
	r     CancelRequest
	found bool
	err   error
}

func (h history) CancelRequest(context.Context, string, string) (CancelRequest, bool, error) {
	return h.r, h.found, h.err
}

func TestTheReasonOfANativeCancel(t *testing.T) { // A3.9
	t.Parallel()
	user := session.Cause{Kind: session.CauseUser}
	for name, c := range map[string]struct {
		history HistoryReader
		want    work.CancelReasonOut
	}{
		"no history":        {nil, work.CancelReasonOut{Cause: user}},
		"unreadable":        {history{err: errors.New("offline")}, work.CancelReasonOut{Cause: user}},
		"nothing found":     {history{}, work.CancelReasonOut{Cause: user}},
		"text and identity": {history{r: CancelRequest{Reason: "enough", Identity: "ann"}, found: true}, work.CancelReasonOut{Cause: user, By: "ann", Text: "enough"}},
		"json": {history{r: CancelRequest{Reason: `{"kind":"hook","reason":"r","keepInbox":true}`}, found: true},
			work.CancelReasonOut{Cause: session.Cause{Kind: session.CauseHook, Reason: "r"}, KeepInbox: true, Text: `{"kind":"hook","reason":"r","keepInbox":true}`}},
		"json dispose":     {history{r: CancelRequest{Reason: `{"kind":"dispose"}`}, found: true}, work.CancelReasonOut{Cause: session.Cause{Kind: session.CauseDisposed}, Dispose: true, Text: `{"kind":"dispose"}`}},
		"dispose":          {history{r: CancelRequest{Reason: " Dispose "}, found: true}, work.CancelReasonOut{Cause: session.Cause{Kind: session.CauseDisposed}, Dispose: true, Text: " Dispose "}},
		"other json":       {history{r: CancelRequest{Reason: `{"kind":"legacy"}`}, found: true}, work.CancelReasonOut{Cause: user, Text: `{"kind":"legacy"}`}},
		"another workflow": {history{r: CancelRequest{Workflow: "parent"}, found: true}, work.CancelReasonOut{Cause: session.Cause{Kind: session.CauseParent}, By: "parent"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.a.History = c.history
			out, err := b.a.CancelReason(b.ctx, work.CancelReasonIn{Session: sess})
			require.NoError(t, err)
			require.Equal(t, c.want, out)
		})
	}
}

func TestHeartbeatsBeginSoonAndFollowHints(t *testing.T) { // A3.9
	t.Parallel()
	b := newBench(t, script(`text "x" open hold h`))
	beats := make(chan struct{}, 100)
	b.a.Heartbeat, b.a.HeartbeatEvery = func(context.Context) { beats <- struct{}{} }, time.Hour
	b.say("a")
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.next()
	}()
	<-beats
	require.NoError(t, b.probes.Wait(t.Context(), "h"))
	b.frames.Hint(sess, "step-1")
	for range 3 { // the server may know nothing of the cancel when the first one comes
		<-beats
	}
	b.probes.Release("h")
	<-done
}

// A hook that nobody registered costs no activity. See A3.12.
func TestTheManifestNamesTheHooks(t *testing.T) {
	t.Parallel()
	stopping := func(d *plugin.Definition) {
		d.TurnStopping = []plugin.Hook{func(context.Context, plugin.Moment) error { return nil }}
	}
	starting := func(d *plugin.Definition) {
		d.SessionStart = []plugin.Hook{func(context.Context, plugin.Moment) error { return nil }}
	}
	for name, c := range map[string]struct {
		define      func(*plugin.Definition)
		start, stop bool
	}{
		"none": {func(*plugin.Definition) {}, false, false}, "stopping": {stopping, false, true}, "starting": {starting, true, false},
	} {
		m, err := newBench(t, define(c.define)).a.Manifest(agent)
		require.NoError(t, err)
		require.Equal(t, []bool{c.start, c.stop}, []bool{m.SessionStart, m.TurnStopping}, name)
	}
}
