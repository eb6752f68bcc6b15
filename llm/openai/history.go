package openai

import (
	"slices"

	sdk "github.com/openai/openai-go/v3"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/internal/vendor"
	"github.com/everturn/everturn/session"
)

// history writes messages in the order of the log, except that nothing comes between a call and its result: what was
// said in between follows the last result.
type history struct {
	provider  string
	pictures  *vendor.Pictures
	reasoning bool     // send reasoning back once tools were called
	toolsUsed bool     // so far
	owed      []string // the calls whose results have not come yet
	held      []sdk.ChatCompletionMessageParamUnion
	out       []sdk.ChatCompletionMessageParamUnion
}

func (h *history) write(req llm.Request) ([]sdk.ChatCompletionMessageParamUnion, error) {
	if req.System != "" {
		h.out = append(h.out, sdk.SystemMessage(req.System))
	}
	for _, m := range req.Messages {
		if err := h.message(m); err != nil {
			return nil, err
		}
	}
	h.settle()
	return h.out, nil
}

func (h *history) message(m session.Message) error {
	switch m.Role {
	case session.RoleSystem:
		h.say(sdk.SystemMessage(vendor.Text(m.Content)))
		return nil
	case session.RoleAssistant:
		h.settle()
		h.assistant(m)
		return nil
	default:
		return h.user(m)
	}
}

// say adds a message, or holds it as long as results are owed.
func (h *history) say(m sdk.ChatCompletionMessageParamUnion) {
	if len(h.owed) > 0 {
		h.held = append(h.held, m)
		return
	}
	h.out = append(h.out, m)
}

// settle stops waiting for results.
func (h *history) settle() {
	h.out = append(h.out, h.held...)
	h.owed, h.held = nil, nil
}

func (h *history) user(m session.Message) error {
	var rest session.Content
	for _, b := range m.Content {
		if r, ok := b.(session.ToolResultBlock); ok {
			h.toolResult(r)
			continue
		}
		rest = append(rest, b)
	}
	if len(rest) == 0 && len(m.Content) > 0 {
		return nil // only tool results
	}
	said, err := h.parts(rest)
	h.say(said)
	return err
}

// toolResult writes a result. A tool message is only text, so its pictures are stand-ins.
func (h *history) toolResult(r session.ToolResultBlock) {
	h.out = append(h.out, sdk.ToolMessage(vendor.Text(r.Content), r.ToolCallID))
	if i := slices.Index(h.owed, r.ToolCallID); i >= 0 {
		h.owed = slices.Delete(h.owed, i, i+1)
	}
	if len(h.owed) == 0 {
		h.settle()
	}
}

// parts writes a message of a user: as text if it is only text, else as a list.
func (h *history) parts(content session.Content) (sdk.ChatCompletionMessageParamUnion, error) {
	var parts []sdk.ChatCompletionContentPartUnionParam
	pictures := false
	for _, b := range content {
		image, ok := b.(session.Image)
		if !ok {
			parts = append(parts, sdk.TextContentPart(vendor.Text(session.Content{b})))
			continue
		}
		part, shown, err := h.picture(image)
		if err != nil {
			return sdk.ChatCompletionMessageParamUnion{}, err
		}
		pictures = pictures || shown
		parts = append(parts, part)
	}
	if !pictures {
		return sdk.UserMessage(vendor.Text(content)), nil
	}
	return sdk.UserMessage(parts), nil
}

func (h *history) picture(image session.Image) (sdk.ChatCompletionContentPartUnionParam, bool, error) {
	mediaType, data, shown, err := h.pictures.Next(image)
	if err != nil || !shown {
		return sdk.TextContentPart(vendor.ImageStandIn), false, err
	}
	url := sdk.ChatCompletionContentPartImageImageURLParam{URL: "data:" + mediaType + ";base64," + data}
	return sdk.ImageContentPart(url), true, nil
}

func (h *history) assistant(m session.Message) {
	var out sdk.ChatCompletionAssistantMessageParam
	for _, c := range m.Content.ToolCalls() {
		out.ToolCalls = append(out.ToolCalls, toolCall(c))
		h.owed = append(h.owed, c.ID)
	}
	h.toolsUsed = h.toolsUsed || len(out.ToolCalls) > 0
	if text := m.Text(); text != "" || len(out.ToolCalls) == 0 {
		out.Content.OfString = sdk.String(text)
	}
	if h.reasoning && h.toolsUsed {
		// From the first call on the vendor wants the field in every answer, even when it is empty.
		out.SetExtraFields(map[string]any{"reasoning_content": h.reasoningOf(m)})
	}
	h.out = append(h.out, sdk.ChatCompletionMessageParamUnion{OfAssistant: &out})
}

// reasoningOf is what the model of this provider thought; thoughts of others are kept from it.
func (h *history) reasoningOf(m session.Message) string {
	var text string
	if m.Source.Provider != h.provider {
		return text
	}
	for _, b := range m.Content {
		if r, ok := b.(session.Reasoning); ok {
			text += r.Text
		}
	}
	return text
}

func toolCall(c session.ToolCallBlock) sdk.ChatCompletionMessageToolCallUnionParam {
	return sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
		ID: c.ID,
		Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
			Name:      c.Name,
			Arguments: string(vendor.Arguments(c.Arguments)),
		},
	}}
}
