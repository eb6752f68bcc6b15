package local

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/workflows"
)

// act turns an act into an input; a large body is stored first. See architecture A3.4.
func (k *task) act(i item) (driver.Input, error) {
	reader := workflows.Reader{MakeID: k.messageID, Ident: k.ident, Spill: k.spill}
	if i.Ref == "" {
		reader.Spill = k.spillInTheEnd
	}
	return reader.Input(i.Name, i.Raw, i.Ref)
}

// messageID makes up the id of a message that came without one; it is unique in the agent's life.
func (k *task) messageID() string {
	k.engine.mu.Lock()
	defer k.engine.mu.Unlock()
	k.agent.Made++
	return madeID(k.agent.ID, k.agent.Made)
}

func (k *task) ident() work.Ident {
	k.restore()
	s := k.driver.State()
	return work.Ident{Session: s.Session, Definition: s.Definition, Epoch: s.Epoch, Store: s.Store, Spec: s.Spec, Rules: s.Rules, Manifest: s.Manifest.Digest}
}

// answerOf decodes what an activity answered.
func answerOf[T any](i item) (out T) {
	if i.Lost != "" {
		return out
	}
	if err := json.Unmarshal(i.Raw, &out); err != nil {
		panic(fmt.Sprintf("local: answer of %s %s: %v", i.Name, i.ID, err)) // it was written by this package
	}
	return out
}
