package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const (
	readyTimeout = 60 * time.Second
	readyPoll    = 20 * time.Millisecond

	frontendHealth = "temporal.api.workflowservice.v1.WorkflowService"
)

// waitReady returns when everything that the serving line promises is true.
func waitReady(ctx context.Context, p ports) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+p.frontend.Dial(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
	if err != nil {
		return fmt.Errorf("connect to the frontend: %w", err)
	}
	defer conn.Close()
	c := checker{
		health:   grpc_health_v1.NewHealthClient(conn),
		workflow: workflowservice.NewWorkflowServiceClient(conn),
		operator: operatorservice.NewOperatorServiceClient(conn),
	}
	checks := []check{
		{"frontend", c.frontend},
		{"namespace", c.namespace},
		{"search attributes", c.searchAttributes},
		{"history service", c.history},
		{"visibility store", c.visibility},
	}
	if p.ui != nil {
		checks = append(checks, check{"web ui", func(ctx context.Context) error { return checkUI(ctx, uiURL(p)) }})
	}
	for _, step := range checks {
		if err := step.poll(ctx); err != nil {
			return fmt.Errorf("wait for the %s: %w", step.what, err)
		}
	}
	return nil
}

// A check is one thing that must be true before the server is said to serve.
type check struct {
	what string
	ask  func(context.Context) error
}

// poll asks until the answer is yes or never, or ctx ends.
func (c check) poll(ctx context.Context) error {
	for {
		err := c.ask(ctx)
		if err == nil || errors.As(err, new(hopelessError)) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w, last answer: %w", context.Cause(ctx), err)
		case <-time.After(readyPoll):
		}
	}
}

// A hopelessError will not go away by waiting.
type hopelessError struct{ error }

// checker asks the server what a client would ask.
type checker struct {
	health   grpc_health_v1.HealthClient
	workflow workflowservice.WorkflowServiceClient
	operator operatorservice.OperatorServiceClient
}

func (c checker) frontend(ctx context.Context) error {
	resp, err := c.health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: frontendHealth})
	if err != nil {
		return err
	}
	if resp.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("health is %s", resp.Status)
	}
	return nil
}

func (c checker) namespace(ctx context.Context) error {
	_, err := c.workflow.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	return err
}

// searchAttributes also adds those that a database made by an older devserver lacks.
func (c checker) searchAttributes(ctx context.Context) error {
	list, err := c.operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	missing := maps.Clone(searchAttributes)
	for name, want := range searchAttributes {
		switch got := list.CustomAttributes[name]; got {
		case want:
			delete(missing, name)
		case enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED:
		default:
			return hopelessError{fmt.Errorf("search attribute %s is of type %s, should be %s (remove it, or choose another --db)", name, got, want)}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: missing,
	})
	return errors.Join(fmt.Errorf("search attributes %v are not there yet", slices.Sorted(maps.Keys(missing))), err)
}

// history asks for a workflow that does not exist; only a history service that owns its shard can tell.
func (c checker) history(ctx context.Context) error {
	_, err := c.workflow.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace,
		Execution: &commonpb.WorkflowExecution{WorkflowId: "devserver-readiness"},
	})
	if errors.As(serviceerror.FromStatus(status.Convert(err)), new(*serviceerror.NotFound)) {
		return nil
	}
	return err
}

// visibility uses the search attributes in a query.
func (c checker) visibility(ctx context.Context) error {
	_, err := c.workflow.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: namespace, Query: `AgentStatus = "none" AND AgentTurn = 0`,
	})
	return err
}
