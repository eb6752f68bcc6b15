package activities

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// Manifest is what a workflow must know of a definition.
func (a *Activities) Manifest(definition string) (work.Manifest, error) {
	k, err := a.kind(definition)
	if err != nil {
		return work.Manifest{}, a.leave(err, "manifest")
	}
	return k.manifest, nil
}

func manifestOf(d *plugin.Definition, set *tools.Set) work.Manifest {
	m := work.Manifest{Rules: work.Rules, Digest: digest(d, set), MaxParallel: d.MaxParallelTools}
	if m.MaxParallel == 0 {
		m.MaxParallel = plugin.DefaultMaxParallelTools
	}
	m.SessionStart, m.TurnStopping = len(d.SessionStart) > 0, len(d.TurnStopping) > 0
	m.Tasks, m.Approvals, m.Tells = taskNames(d), approvalsOf(d.Approval), work.TellsOf(webhooksOf(d), session.ToldWaits())
	m.Budget = d.Budget
	return m
}

// approvalsOf is what an agent must know of the approval service; nil if nothing but asking is declared.
func approvalsOf(a *plugin.Approval) *work.Approvals {
	if a == nil || a.Policy == "" && len(a.Allow) == 0 {
		return nil
	}
	out := &work.Approvals{Mode: a.Policy}
	for _, r := range a.Allow {
		rule := work.Rule{Tool: r.Tool}
		for _, name := range slices.Sorted(maps.Keys(r.Args)) {
			rule.Args = append(rule.Args, work.ArgPattern{Name: name, Pattern: r.Args[name]})
		}
		out.Allow = append(out.Allow, rule)
	}
	return out
}

// taskNames are the maintenance tasks that callers can ask for.
func taskNames(d *plugin.Definition) []string {
	names := slices.Collect(maps.Keys(d.Maintenance))
	if d.Compaction != nil {
		names = append(names, plugin.CompactTask)
	}
	slices.Sort(names)
	return names
}

// gateCounts says how many of each kind are registered.
func gateCounts(d *plugin.Definition) []int {
	return []int{
		len(d.PreStep), len(d.Request), len(d.Stream), len(d.RequestError), len(d.ToolPreExecute), len(d.Guards),
		len(d.ToolExecute), len(d.ToolPostExecute), len(d.Created), len(d.SessionStart), len(d.TurnStopping),
	}
}

// features is what the digest of a definition covers.
type features struct {
	Name        string
	Route       session.CallConfig
	Sections    []sectionFeature
	Variables   []string
	Contexts    []string
	Tools       []toolFeature
	ToolOrder   []string
	MaxParallel int
	Gates       []int
	Approval    *approvalFeature
	MaxResult   int
	Tasks       []string
	Hides       bool
	Compaction  *plugin.Compaction
	Params      json.RawMessage `json:",omitempty"`
	Tells       []string
	Webhooks    []plugin.Webhook `json:",omitempty"`
	Budget      int64            `json:",omitempty"`
}

// An approvalFeature has what is not declared left out, so that the digests of before stay.
type approvalFeature struct {
	Deadline time.Duration
	Policy   string        `json:",omitempty"`
	Allow    []plugin.Rule `json:",omitempty"`
}

type sectionFeature struct {
	Name, Text         string
	Order              float64
	Computed, Complete bool
}

type toolFeature struct {
	Schema   session.ToolSchema
	Effect   tools.Effect
	Timeout  int64
	Queue    string
	Parallel bool
	Approval string `json:",omitempty"`
}

// digest changes when the definition does, as far as that can be seen from outside its functions.
func digest(d *plugin.Definition, set *tools.Set) string {
	f := features{
		Name: d.Name, Route: declaredConfig(d, work.Spec{}), ToolOrder: d.ToolOrder, MaxParallel: d.MaxParallelTools,
		Gates: gateCounts(d), Approval: (*approvalFeature)(d.Approval), MaxResult: d.MaxResultBytes, Tasks: taskNames(d), Hides: d.Hide != nil, Compaction: d.Compaction, Params: d.Params,
		Tells: work.TellsOf(webhooksOf(d), session.ToldWaits()), Webhooks: d.Webhooks, Budget: d.Budget,
	}
	for _, s := range d.Sections {
		f.Sections = append(f.Sections, sectionFeature{s.Name, s.Text, s.Order, s.Render != nil, s.Complete})
	}
	for name := range d.Variables {
		f.Variables = append(f.Variables, name)
	}
	slices.Sort(f.Variables)
	for _, c := range d.Contexts {
		f.Contexts = append(f.Contexts, fmt.Sprintf("%s %v", c.Name, c.Order))
	}
	for _, t := range set.All() {
		f.Tools = append(f.Tools, toolFeature{t.Schema(), effectOf(t), timeoutOf(t).Milliseconds(), t.Queue, t.Parallel != nil, t.NeedsApproval})
	}
	raw, err := json.Marshal(f)
	if err != nil {
		raw = []byte(err.Error()) // a schema that is not JSON: Validate and the model will say so
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}
