package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// RequestAt is the request that the log asks for at its end: a pure function of the log. It is what [Activities.Step]
// sends, and what a reader gets who asks for the request of an older step. See spec §4.6.
func RequestAt(st *session.State, sessionID string) llm.Request {
	req := llm.Request{Session: sessionID, Messages: st.Messages()}
	if h := st.LastHeader(); h != nil {
		req.Config, req.System, req.Tools = h.Header.Config, h.Header.System, h.Header.Tools
	}
	return req
}

// ForRoute is the request as a route is sent it: on one that does not accept images, each image is a fixed text. See
// spec §9.5.
func ForRoute(req llm.Request, images bool) llm.Request {
	if images {
		return req
	}
	shared := true // most requests have no image
	for i, m := range req.Messages {
		content := withoutImages(m.Content)
		if len(content) == 0 || &content[0] == &m.Content[0] {
			continue
		}
		if shared {
			req.Messages, shared = slices.Clone(req.Messages), false
		}
		req.Messages[i].Content = content
	}
	return req
}

// ImageStandIn is what a model without eyes reads in the place of an image.
const ImageStandIn = "[An image is here, but this model does not accept images.]"

func withoutImages(in session.Content) session.Content {
	out := in
	for i, b := range in {
		var with session.Block
		switch b := b.(type) {
		case session.Image:
			with = session.Text{Text: ImageStandIn}
		case session.ToolResultBlock:
			b.Content = withoutImages(b.Content)
			with = b
		default:
			continue
		}
		if &out[0] == &in[0] {
			out = append(session.Content{}, in...)
		}
		out[i] = with
	}
	return out
}

// build is the request as the step made it, independently of what the log says. Messages is nil if history was
// rewritten for it.
func (s *step) build(before, added []session.Message, system string) llm.Request {
	req := llm.Request{Session: s.in.Ident.Session, Config: s.proposal.Config, System: system, Tools: s.proposal.Tools}
	if added != nil {
		req.Messages = append(before, added...)
	}
	return req
}

// freeze takes the request from the log and holds it against what the step made. See spec §4.6.2.
func (s *step) freeze(ctx context.Context) (*work.StepOut, error) {
	derived := RequestAt(s.state, s.in.Ident.Session)
	if what := differs(s.request, derived); what != "" {
		return s.fail(ctx, fmt.Errorf("the request differs from its log in %s: it is not sent", what))
	}
	if s.unserved != nil && len(s.kind.Stream) == 0 {
		return s.fail(ctx, s.unserved)
	}
	s.request = ForRoute(derived, s.prepared == nil || s.prepared.Images)
	return nil, nil
}

// differs names the part in which two requests differ.
func differs(made, derived llm.Request) string {
	switch {
	case !sameJSON(made.Config, derived.Config):
		return "its configuration"
	case made.System != derived.System:
		return "its system prompt"
	case !(len(made.Tools) == 0 && len(derived.Tools) == 0) && !sameJSON(made.Tools, derived.Tools):
		return "its tools"
	case made.Messages != nil && !reflect.DeepEqual(made.Messages, derived.Messages):
		return "its messages"
	}
	return ""
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
