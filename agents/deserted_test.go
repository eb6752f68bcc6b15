package agents

import (
	"context"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"

	"github.com/everturn/everturn/signals"
)

// A worker that stops breaks off what it was about to answer; the caller did not ask for that.
func TestAWorkerStopsBeforeItAnswers(t *testing.T) {
	t.Parallel()
	broken := serviceerror.NewCanceled("context canceled")
	answer := &mocks.Value{}
	answer.On("Get", mock.Anything).Return(nil)
	c := &mocks.Client{}
	c.On("QueryWorkflow", mock.Anything, "a", "", signals.QueryState).Return(nil, broken).Twice()
	c.On("QueryWorkflow", mock.Anything, "a", "", signals.QueryState).Return(answer, nil)
	c.On("UpdateWorkflow", mock.Anything, mock.Anything).Return(nil, broken)
	b := Temporal(c, TemporalOptions{})

	require.NoError(t, b.Query(t.Context(), "a", signals.QueryState, nil, &signals.State{}), "another worker answers")
	require.ErrorIs(t, b.Update(t.Context(), "a", signals.Steer, signals.Send{Text: "x"}, nil), ErrNoWorker)
}

// Who leaves is not held up.
func TestACallerLeavesBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	c := &mocks.Client{}
	c.On("QueryWorkflow", mock.Anything, "a", "", signals.QueryState).
		Return(func(context.Context, string, string, string, ...any) converter.EncodedValue { leave(); return nil }, serviceerror.NewCanceled("context canceled")).Once()
	require.Error(t, Temporal(c, TemporalOptions{}).Query(ctx, "a", signals.QueryState, nil, &signals.State{}))
}

// A run that is being renewed lets go of an update that it has not taken: it is asked again.
func TestAnUpdateThatARunLetsGoOf(t *testing.T) {
	t.Parallel()
	let := serviceerror.NewWorkflowNotReady("unexpected workflow task failure")
	c := &mocks.Client{}
	c.On("UpdateWorkflow", mock.Anything, mock.Anything).Return(nil, let).Twice()
	c.On("UpdateWorkflow", mock.Anything, mock.Anything).Return(nil, serviceerror.NewNotFound("gone")).Once()
	require.ErrorIs(t, Temporal(c, TemporalOptions{}).Update(t.Context(), "a", signals.Steer, signals.Send{Text: "x"}, nil), ErrUnknownAgent)
	c.AssertNumberOfCalls(t, "UpdateWorkflow", 3)
}
