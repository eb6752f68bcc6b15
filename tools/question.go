package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Questions are what a call asks people, see [Result]. They answer them all at once, from any process.
type Questions struct {
	Questions []Question
	Deadline  time.Duration // how long answers are waited for; 0 means without end
}

// A Question offers options, takes a text, or both. Its JSON form is that of signals.Question.
type Question struct {
	ID      string   `json:"id"` // unique in the call, stable: answers name it
	Text    string   `json:"text"`
	Header  string   `json:"header,omitempty"`  // a few words
	Detail  string   `json:"detail,omitempty"`  // what one should know to answer
	Options []Choice `json:"options,omitempty"` // none: a text is the answer
	Multi   bool     `json:"multi,omitempty"`   // more than one option may be chosen
	Free    bool     `json:"free,omitempty"`    // a text of one's own is taken besides the options
	Must    bool     `json:"must,omitempty"`    // it cannot be skipped
}

// A Choice may be chosen as an answer.
type Choice struct {
	Label  string `json:"label"`
	Detail string `json:"detail,omitempty"`
}

// An Answer is what people said to a question: labels of its options, a text, both, or nothing.
type Answer struct {
	ID       string   `json:"id"`
	Question string   `json:"question"`
	Selected []string `json:"selected,omitempty"`
	Text     string   `json:"text,omitempty"`
	Skipped  bool     `json:"skipped,omitempty"`
}

// The bounds of what a call asks.
const (
	MaxQuestions     = 8
	MaxOptions       = 16
	MaxQuestionBytes = 4 << 10 // of all questions, encoded
)

// Check names the first question that people could not answer, and what to do.
func (q Questions) Check() error {
	switch n := len(q.Questions); {
	case n == 0:
		return errors.New("no question is asked")
	case n > MaxQuestions:
		return fmt.Errorf("%d questions are asked; at most %d can be answered at once", n, MaxQuestions)
	case q.Deadline < 0:
		return fmt.Errorf("the deadline %v is negative", q.Deadline)
	}
	seen := map[string]bool{}
	for i, one := range q.Questions {
		if err := one.check(); err != nil {
			return fmt.Errorf("question %d: %w", i+1, err)
		}
		if seen[one.ID] {
			return fmt.Errorf("question %d: the id %q is given twice", i+1, one.ID)
		}
		seen[one.ID] = true
	}
	raw, err := json.Marshal(q.Questions)
	if err == nil && len(raw) > MaxQuestionBytes {
		err = fmt.Errorf("the questions are %d bytes; at most %d can be asked at once: shorten them or ask fewer", len(raw), MaxQuestionBytes)
	}
	return err
}

func (q Question) check() error {
	switch {
	case !validName.MatchString(q.ID):
		return fmt.Errorf("the id %q must be 1 to 64 letters, digits, _ or -", clip(q.ID))
	case blank(q.Text):
		return errors.New("the text is missing")
	case len(q.Options) == 0 && q.Multi:
		return errors.New("multi needs options to choose from")
	case len(q.Options) > MaxOptions:
		return fmt.Errorf("%d options are offered; at most %d are taken", len(q.Options), MaxOptions)
	}
	for _, text := range []string{q.Text, q.Header, q.Detail} {
		if !utf8.ValidString(text) {
			return errors.New("a text is not valid UTF-8")
		}
	}
	return checkOptions(q.Options)
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

func checkOptions(options []Choice) error {
	seen := map[string]bool{}
	for i, o := range options {
		switch {
		case blank(o.Label):
			return fmt.Errorf("option %d has no label", i+1)
		case seen[o.Label]:
			return fmt.Errorf("the option %q is offered twice", clip(o.Label))
		case !utf8.ValidString(o.Label + o.Detail):
			return fmt.Errorf("option %d is not valid UTF-8", i+1)
		}
		seen[o.Label] = true
	}
	return nil
}
