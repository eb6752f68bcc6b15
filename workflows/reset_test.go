package workflows_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
)

// A reset is noticed by a field that the SDK keeps but does not export. If an upgrade takes it away or gives it another
// type, resets go unnoticed: find another way before you upgrade. See docs/decisions/0009.
func TestTheSDKKeepsTheRunOfAReset(t *testing.T) {
	t.Parallel()
	field, ok := reflect.TypeOf(workflow.Info{}).FieldByName("currentRunID")
	require.True(t, ok)
	require.Equal(t, reflect.String, field.Type.Kind())
}
