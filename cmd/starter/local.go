package main

import (
	"context"
	"errors"

	"github.com/everturn/everturn/agents"
)

func (a *app) localClient(ctx context.Context) (*agents.Client, error) {
	return nil, errors.New("not yet")
}
