package openai

import (
	"encoding/json"
	"fmt"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/internal/vendor"
	"github.com/everturn/everturn/session"
)

// params writes the request down. The same request always gives the same bytes.
func (p *Provider) params(config session.CallConfig, model Model, req llm.Request, pictures *vendor.Pictures) (sdk.ChatCompletionNewParams, error) {
	h := history{provider: p.name, pictures: pictures, reasoning: p.dialect == DeepSeek && config.ReasoningEffort != Off}
	messages, err := h.write(req)
	if err != nil {
		return sdk.ChatCompletionNewParams{}, err
	}
	out := sdk.ChatCompletionNewParams{
		Model:         config.Model,
		Messages:      messages,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	if out.Tools, err = tools(req.Tools); err != nil {
		return sdk.ChatCompletionNewParams{}, err
	}
	p.limits(&out, config)
	p.effort(&out, model, config.ReasoningEffort)
	return out, nil
}

func (p *Provider) limits(out *sdk.ChatCompletionNewParams, config session.CallConfig) {
	if config.Temperature != nil {
		out.Temperature = sdk.Float(*config.Temperature)
	}
	if len(config.Stop) > 0 {
		out.Stop.OfStringArray = config.Stop
	}
	switch {
	case config.MaxTokens == 0:
	case p.dialect == OpenAI:
		out.MaxCompletionTokens = sdk.Int(int64(config.MaxTokens))
	default:
		out.MaxTokens = sdk.Int(int64(config.MaxTokens)) // the older name is the one everybody else reads
	}
}

func (p *Provider) effort(out *sdk.ChatCompletionNewParams, model Model, asked string) {
	if p.dialect != DeepSeek {
		out.ReasoningEffort = shared.ReasoningEffort(model.effort(asked))
		return
	}
	switch asked {
	case "":
	case Off:
		out.SetExtraFields(map[string]any{"thinking": map[string]string{"type": "disabled"}})
	default:
		out.ReasoningEffort = shared.ReasoningEffort(asked)
		out.SetExtraFields(map[string]any{"thinking": map[string]string{"type": "enabled"}})
	}
}

func tools(schemas []session.ToolSchema) ([]sdk.ChatCompletionToolUnionParam, error) {
	var out []sdk.ChatCompletionToolUnionParam
	for _, s := range schemas {
		parameters, err := parameters(s)
		if err != nil {
			return nil, err
		}
		f := shared.FunctionDefinitionParam{Name: s.Name, Parameters: parameters}
		if s.Description != "" {
			f.Description = sdk.String(s.Description)
		}
		out = append(out, sdk.ChatCompletionFunctionTool(f))
	}
	return out, nil
}

// parameters keeps what is inside the schema byte for byte.
func parameters(s session.ToolSchema) (shared.FunctionParameters, error) {
	if len(s.Parameters) == 0 {
		return nil, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(s.Parameters, &fields); err != nil {
		return nil, llm.Errorf(llm.InvalidRequest, fmt.Sprintf("tool %s: its parameters are not a JSON object", s.Name), err)
	}
	out := make(shared.FunctionParameters, len(fields))
	for name, raw := range fields {
		out[name] = raw
	}
	return out, nil
}
