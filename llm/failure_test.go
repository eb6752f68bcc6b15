package llm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

func TestFailureOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want session.Failure
	}{
		"nothing":             {nil, session.Failure{}},
		"a failure":           {llm.Errorf(llm.Quota, "no credit", nil), session.Failure{Code: "QUOTA", Message: "no credit"}},
		"a wrapped failure":   {fmt.Errorf("x: %w", llm.Errorf(llm.Quota, "no credit", nil)), session.Failure{Code: "QUOTA", Message: "no credit"}},
		"a cancelled context": {context.Canceled, session.Failure{Code: "ABORTED", Message: "the provider aborted the call: context canceled"}},
		"anything else":       {errors.New("boom"), session.Failure{Code: "UNKNOWN", Message: "boom"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, llm.FailureOf(c.err))
		})
	}
}

func TestAnErrorKeepsItsCauseAndDoesNotPrintIt(t *testing.T) {
	t.Parallel()
	cause := errors.New("header: sk-s3cret")
	err := llm.Errorf(llm.Transport, "no answer", cause)
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "TRANSPORT: no answer")
	require.NotContains(t, fmt.Sprintf("%v %+v %s", err, err, err), "s3cret")
}
