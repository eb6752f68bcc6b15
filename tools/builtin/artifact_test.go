package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/tools"
)

type blobs map[string]string

func (b blobs) Blob(_ context.Context, sha256 string) ([]byte, error) {
	text, ok := b[sha256]
	if !ok {
		return nil, errors.New("never stored")
	}
	return []byte(text), nil
}

func TestReadArtifactReadsInParts(t *testing.T) { // §9.4
	t.Parallel()
	long := strings.Repeat("0123456789", maxAnswer/10+1)
	tool := ReadArtifact(blobs{"short": "one äöü", "long": long})
	for name, c := range map[string]struct {
		args string
		text string
		code string
	}{
		"all":                {`{"sha256":"short"}`, "one äöü", ""},
		"from an offset":     {`{"sha256":"short","offset":4}`, "äöü", ""},
		"a few bytes":        {`{"sha256":"short","limit":3}`, "one\n… bytes 0 to 3 of 10; go on with offset 3\n", ""},
		"no half characters": {`{"sha256":"short","limit":5}`, "one \n… bytes 0 to 4 of 10; go on with offset 4\n", ""},
		"the end":            {`{"sha256":"short","offset":10}`, "", ""},
		"a full answer":      {`{"sha256":"long"}`, long[:maxAnswer] + fmt.Sprintf("\n… bytes 0 to %d of %d; go on with offset %d\n", maxAnswer, len(long), maxAnswer), ""},
		"behind the end":     {`{"sha256":"short","offset":11}`, "the artefact has 10 bytes", OutOfRange},
		"negative":           {`{"sha256":"short","offset":-1}`, "cannot be negative", OutOfRange},
		"unknown":            {`{"sha256":"other"}`, "never stored", NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := tool.Invoke(t.Context(), c.args)
			if c.code == "" {
				require.NoError(t, err)
				require.Equal(t, c.text, result.Content.Text())
				return
			}
			require.ErrorContains(t, err, c.text)
			_, code, _ := tools.ErrorOf(err)
			require.Equal(t, c.code, code)
		})
	}
	require.True(t, tool.KeepWhole)
	require.True(t, tool.ParallelWith(`{"sha256":"x"}`))
}
