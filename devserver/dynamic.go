package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/server/common/dynamicconfig"
)

// defaultSettings are the settings in which this server differs from a stock one; --dynamic-config may override each.
var defaultSettings = []override{
	// One shard serves everything, so the stock rates, made for thousands of shards, would throttle it.
	{"history.transferProcessorMaxPollRPS", 2000},
	{"history.timerProcessorMaxPollRPS", 2000},
	{"history.visibilityProcessorMaxPollRPS", 2000},
	// A timer that is set for less than this is late by up to as much: a heartbeat that failed to come, a short retry.
	// The second of a stock server is for clocks that differ.
	{"history.timerProcessorMaxTimeShift", "50ms"},
	// Cancelling an activity reaches the worker at once instead of with its next heartbeat.
	{"frontend.WorkerCommandsEnabled", true},
	{"system.enableCancelActivityWorkerCommand", true},
	// An agent may be ended and created again under its id without a pause.
	{"history.workflowIdReuseMinimalInterval", 0},
	// A development server does not phone home.
	{"frontend.enableServerVersionCheck", false},
}

// An override sets one key of Temporal's dynamic config for everything.
type override struct {
	key   string
	value any // what encoding/json makes of the text, or the text
}

// parseOverrides reads key=value texts. Its errors are usage errors.
func parseOverrides(texts []string) ([]override, error) {
	var overrides []override
	for _, text := range texts {
		o, err := parseOverride(text)
		if err != nil {
			return nil, usagef("--dynamic-config %q: %w", text, err)
		}
		if _, err := settings([]override{o}); err != nil {
			return nil, usagef("--dynamic-config %q: %w", text, err)
		}
		overrides = append(overrides, o)
	}
	return overrides, nil
}

func parseOverride(text string) (override, error) {
	key, raw, found := strings.Cut(text, "=")
	key = strings.TrimSpace(key)
	if !found || key == "" {
		return override{}, errors.New("not of the form key=value")
	}
	var value any
	if err := json.Unmarshal([]byte(raw), &value); err != nil {
		value = raw
	}
	return override{key, value}, nil
}

// settings turns overrides, later ones winning, into a client of Temporal's dynamic config.
// Keys that the server does not know and values that do not fit their key are errors.
func settings(overrides []override) (dynamicconfig.StaticClient, error) {
	var loader dynamicconfig.YamlLoader
	for _, o := range overrides {
		// The loader reads YAML, of which JSON is a part; it gives numbers the types that the settings expect.
		value, err := json.Marshal([]map[string]any{{"value": o.value}})
		if err != nil {
			return nil, fmt.Errorf("encode the value of %s: %w", o.key, err)
		}
		loader.LoadValue(dynamicconfig.MakeKey(o.key), value)
	}
	if err := errors.Join(append(loader.Errors, loader.Warnings...)...); err != nil {
		return nil, fmt.Errorf("%w (check key and value against the server's dynamic config)", err)
	}
	client := dynamicconfig.StaticClient{}
	for key, values := range loader.Map {
		client[key] = values
	}
	return client, nil
}
