package activities

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everturn/everturn/internal/work"
)

// The limits of recorded data beside those of package work.
const (
	maxTitle     = 1 << 10
	maxName      = 200 // of a model, a queue, a section, a tool
	maxSections  = 32
	maxToolNames = 256
	maxMetadata  = 16
)

// checkSpec names the field that is wrong and what would be right. See spec §6.1.1, C-100, and architecture A3.12.
func (a *Activities) checkSpec(k *kind, s work.Spec) error {
	for _, check := range []func(*kind, work.Spec) error{a.checkRoute, checkNames, checkParams, checkSections, checkTools, checkClientTools, checkMetadata, a.checkWebhooks} {
		if err := check(k, s); err != nil {
			return err
		}
	}
	if raw, err := json.Marshal(s); err != nil {
		return err
	} else if len(raw) > work.SpecLimit {
		return fmt.Errorf("the recorded data takes %d bytes: at most %d are kept (store what is large and record where it is)", len(raw), work.SpecLimit)
	}
	return nil
}

func (a *Activities) checkRoute(_ *kind, s work.Spec) error {
	if s.MaxTokens < 0 {
		return fmt.Errorf("maxTokens is %d: use a positive number, or leave it out for the definition's", s.MaxTokens)
	}
	if s.Budget < 0 {
		return fmt.Errorf("budget is %d: use a positive number of tokens, or leave it out for the definition's", s.Budget)
	}
	if names := a.Registry.Names(); s.Provider != "" && !slices.Contains(names, s.Provider) {
		return fmt.Errorf("provider %q is not registered with this worker, which has %s", s.Provider, orNone(names))
	}
	return nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func checkNames(_ *kind, s work.Spec) error {
	if len(s.Title) > maxTitle {
		return fmt.Errorf("title takes %d bytes: use at most %d", len(s.Title), maxTitle)
	}
	for _, f := range []struct{ field, name string }{
		{"provider", s.Provider}, {"model", s.Model}, {"reasoningEffort", s.ReasoningEffort}, {"queue", s.Queue},
	} {
		if f.name != "" && !plain(f.name) {
			return fmt.Errorf("%s is %.60q: use 1–%d characters without control characters", f.field, f.name, maxName)
		}
	}
	return nil
}

// plain reports whether a name can be shown and compared.
func plain(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

func checkParams(k *kind, s work.Spec) error {
	if len(s.Params) > work.ParamsLimit {
		return fmt.Errorf("params take %d bytes: at most %d are kept (store what is large and record where it is)", len(s.Params), work.ParamsLimit)
	}
	if err := k.CheckParams(s.Params); err != nil {
		return fmt.Errorf("params: %w", err)
	}
	if problem := lossy(s.Params); len(s.Params) > 0 && problem != "" {
		return fmt.Errorf("params: %s", problem)
	}
	return nil
}

// checkSections also refuses what would fail every turn: a text whose references nobody answers, or one beside a section
// of the definition that is the entire prompt. See spec §8.1.
func checkSections(k *kind, s work.Spec) error {
	if len(s.Sections) > maxSections {
		return fmt.Errorf("sections: %d are too many; at most %d are kept", len(s.Sections), maxSections)
	}
	seen := map[string]bool{}
	for i, section := range s.Sections {
		if err := checkSection(k, section, seen); err != nil {
			return fmt.Errorf("sections[%d] %.60q: %w", i, section.Name, err)
		}
		seen[section.Name] = true
	}
	return nil
}

func checkSection(k *kind, s work.Section, seen map[string]bool) error {
	switch {
	case !plain(s.Name):
		return fmt.Errorf("name: use 1–%d characters without control characters", maxName)
	case seen[s.Name]:
		return errors.New("name: it is there twice")
	case len(s.Text) > work.SectionLimit:
		return fmt.Errorf("text takes %d bytes: at most %d are kept", len(s.Text), work.SectionLimit)
	case !utf8.ValidString(s.Text):
		return errors.New("text is not valid UTF-8")
	}
	for _, own := range k.Sections {
		if own.Complete {
			return fmt.Errorf("section %q of the definition is the entire prompt, nothing can be added to it", own.Name)
		}
	}
	if err := k.CheckText(s.Text); err != nil {
		return fmt.Errorf("text: %w", err)
	}
	return nil
}

func checkTools(k *kind, s work.Spec) error {
	if s.Tools == nil {
		return nil
	}
	for _, list := range []struct {
		field string
		names []string
	}{{"tools.allow", s.Tools.Allow}, {"tools.deny", s.Tools.Deny}} {
		if len(list.names) > maxToolNames {
			return fmt.Errorf("%s: %d names are too many; at most %d are kept", list.field, len(list.names), maxToolNames)
		}
		for _, name := range list.names {
			if _, known := k.set.Get(name); !known {
				return fmt.Errorf("%s: definition %q has no tool %.60q, it has %s", list.field, k.Name, name, orNone(k.toolNames()))
			}
		}
	}
	return nil
}

func (k *kind) toolNames() (names []string) {
	for _, t := range k.set.All() {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

func checkMetadata(_ *kind, s work.Spec) error {
	if len(s.Metadata) > maxMetadata {
		return fmt.Errorf("metadata: %d entries are too many; at most %d are kept", len(s.Metadata), maxMetadata)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Metadata)) {
		if value := s.Metadata[key]; !plain(key) || !utf8.ValidString(value) {
			return fmt.Errorf("metadata: key %.60q: use 1–%d characters without control characters, and text as the value", key, maxName)
		}
	}
	if raw := metadataOf(s); len(raw) > work.MetadataLimit {
		return fmt.Errorf("metadata takes %d bytes: at most %d are kept", len(raw), work.MetadataLimit)
	}
	return nil
}

// metadataOf is the metadata as it travels; nil if there is none.
func metadataOf(s work.Spec) json.RawMessage {
	if len(s.Metadata) == 0 {
		return nil
	}
	raw, err := json.Marshal(s.Metadata)
	if err != nil {
		return nil // strings have a JSON form
	}
	return raw
}

// recordedOf is what the workflow must know of a stored spec.
func recordedOf(digest string, s work.Spec) *work.Recorded {
	return &work.Recorded{Spec: digest, Title: s.Title, Queue: s.Queue, Metadata: metadataOf(s), Tells: work.TellsOf(s.Webhooks, nil), Budget: s.Budget}
}
