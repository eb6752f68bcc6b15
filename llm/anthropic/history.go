package anthropic

import (
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/everturn/everturn/llm/internal/vendor"
	"github.com/everturn/everturn/session"
)

// history writes messages in the order of the log, neighbours of one role as one message.
type history struct {
	provider string
	model    string
	pictures *vendor.Pictures
	out      []sdk.MessageParam
	results  int // how many tool results the last message begins with
}

func (h *history) write(messages []session.Message) error {
	for _, m := range messages {
		if err := h.message(m); err != nil {
			return err
		}
	}
	markForCache(h.out)
	return nil
}

func (h *history) message(m session.Message) error {
	switch m.Role {
	case session.RoleAssistant:
		h.add(sdk.MessageParamRoleAssistant, h.assistant(m)...)
		return nil
	case session.RoleSystem:
		// The agent sends no such message to a route without prompt updates; this is for a log that came from elsewhere.
		h.add(sdk.MessageParamRoleUser, sdk.NewTextBlock("[system message]\n"+vendor.Text(m.Content)))
		return nil
	default:
		return h.user(m.Content)
	}
}

// add appends blocks to the last message if it has the same role.
func (h *history) add(role sdk.MessageParamRole, blocks ...sdk.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if last := len(h.out) - 1; last >= 0 && h.out[last].Role == role {
		h.out[last].Content = append(h.out[last].Content, blocks...)
		return
	}
	h.out = append(h.out, sdk.MessageParam{Role: role, Content: blocks})
	h.results = 0
}

// addResult appends a tool result. Results come before everything else of their message.
func (h *history) addResult(result sdk.ContentBlockParamUnion) {
	h.add(sdk.MessageParamRoleUser, result)
	content := h.out[len(h.out)-1].Content
	copy(content[h.results+1:], content[h.results:len(content)-1])
	content[h.results] = result
	h.results++
}

func (h *history) user(content session.Content) error {
	for _, b := range content {
		if r, ok := b.(session.ToolResultBlock); ok {
			if err := h.toolResult(r); err != nil {
				return err
			}
			continue
		}
		block, err := h.block(b)
		if err != nil {
			return err
		}
		h.add(sdk.MessageParamRoleUser, block)
	}
	return nil
}

// block writes a block of a user.
func (h *history) block(b session.Block) (sdk.ContentBlockParamUnion, error) {
	image, ok := b.(session.Image)
	if !ok {
		return sdk.NewTextBlock(vendor.OrNoContent(vendor.Text(session.Content{b}))), nil
	}
	mediaType, data, shown, err := h.pictures.Next(image)
	if err != nil || !shown {
		return sdk.NewTextBlock(vendor.ImageStandIn), err
	}
	return sdk.NewImageBlockBase64(mediaType, data), nil
}

func (h *history) toolResult(r session.ToolResultBlock) error {
	out := &sdk.ToolResultBlockParam{ToolUseID: r.ToolCallID}
	if r.IsError {
		out.IsError = sdk.Bool(true)
	}
	for _, b := range r.Content {
		if t, ok := b.(session.Text); ok && strings.TrimSpace(t.Text) == "" {
			continue // a result may be empty, its texts may not
		}
		block, err := h.block(b)
		if err != nil {
			return err
		}
		out.Content = append(out.Content, sdk.ToolResultBlockParamContentUnion{OfText: block.OfText, OfImage: block.OfImage})
	}
	h.addResult(sdk.ContentBlockParamUnion{OfToolResult: out})
	return nil
}

// assistant writes a message of the model, with its thinking if it can be replayed.
func (h *history) assistant(m session.Message) []sdk.ContentBlockParamUnion {
	replay := h.replayOf(m)
	var out []sdk.ContentBlockParamUnion
	for i, b := range m.Content {
		switch b := b.(type) {
		case session.Reasoning:
			if replay != nil {
				out = append(out, replay[i].blocks(b)...)
			}
		case session.ToolCallBlock:
			out = append(out, sdk.NewToolUseBlock(b.ID, vendor.Arguments(b.Arguments), b.Name))
		default:
			if text := vendor.Text(session.Content{b}); strings.TrimSpace(text) != "" {
				out = append(out, sdk.NewTextBlock(text))
			}
		}
	}
	return out
}

// markForCache marks the end of the prompt. Thinking cannot carry a mark, so an answer that ends with it gets none.
func markForCache(messages []sdk.MessageParam) {
	if len(messages) == 0 {
		return
	}
	content := messages[len(messages)-1].Content
	if mark := content[len(content)-1].GetCacheControl(); mark != nil {
		*mark = sdk.NewCacheControlEphemeralParam()
	}
}
