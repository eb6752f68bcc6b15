package anthropic

import (
	"encoding/json"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/internal/vendor"
	"github.com/everturn/everturn/session"
)

// params writes the request down. The same request always gives the same bytes.
func (p *Provider) params(config session.CallConfig, model Model, req llm.Request, pictures *vendor.Pictures) (sdk.MessageNewParams, error) {
	h := history{provider: p.name, model: config.Model, pictures: pictures}
	if err := h.write(req.Messages); err != nil {
		return sdk.MessageNewParams{}, err
	}
	tools, err := tools(req.Tools)
	if err != nil {
		return sdk.MessageNewParams{}, err
	}
	out := sdk.MessageNewParams{
		Model:         config.Model,
		MaxTokens:     int64(config.MaxTokens),
		Messages:      h.out,
		Tools:         tools,
		StopSequences: config.Stop,
	}
	if req.System != "" {
		out.System = []sdk.TextBlockParam{{Text: req.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	if config.Temperature != nil {
		out.Temperature = sdk.Float(*config.Temperature)
	}
	think(&out, model.Thinking, config)
	return out, nil
}

// think says how to think. Summaries are asked for wherever the model thinks: without them the log would hold nothing
// that a person could read.
func think(out *sdk.MessageNewParams, kind Thinking, config session.CallConfig) {
	effort := config.ReasoningEffort
	switch {
	case kind == NoThinking:
	case kind == Budget:
		if b := budget(effort, config.MaxTokens); b > 0 {
			out.Thinking = sdk.ThinkingConfigParamOfEnabled(b)
		}
	case effort == "" && kind == Adaptive:
	case effort == Off && kind == AdaptiveOnly:
		adaptive(out, efforts[0].name)
	case effort == Off:
		disabled := sdk.NewThinkingConfigDisabledParam()
		out.Thinking.OfDisabled = &disabled
	default:
		adaptive(out, effort)
	}
}

func adaptive(out *sdk.MessageNewParams, effort string) {
	out.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
	out.OutputConfig.Effort = sdk.OutputConfigEffort(effort)
}

func tools(schemas []session.ToolSchema) ([]sdk.ToolUnionParam, error) {
	var out []sdk.ToolUnionParam
	for i, s := range schemas {
		t := &sdk.ToolParam{Name: s.Name, InputSchema: sdk.ToolInputSchemaParam{Type: "object"}}
		if s.Description != "" {
			t.Description = sdk.String(s.Description)
		}
		if len(s.Parameters) > 0 {
			if !json.Valid(s.Parameters) {
				return nil, llm.Errorf(llm.InvalidRequest, fmt.Sprintf("tool %s: its parameters are not JSON", s.Name), nil)
			}
			t.InputSchema = param.Override[sdk.ToolInputSchemaParam](s.Parameters) // byte for byte
		}
		if i == len(schemas)-1 {
			t.CacheControl = sdk.NewCacheControlEphemeralParam()
		}
		out = append(out, sdk.ToolUnionParam{OfTool: t})
	}
	return out, nil
}
