package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/everturn/everturn/tools"
)

// Blobs is where artefacts are stored.
type Blobs interface {
	// Blob returns the bytes that have this hash.
	Blob(ctx context.Context, sha256 string) ([]byte, error)
}

type artifactArgs struct {
	SHA256 string `json:"sha256" jsonschema:"the SHA-256 that a shortened result names"`
	Offset int    `json:"offset,omitempty" jsonschema:"first byte to return, from 0"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of bytes to return; 49152 if absent, which is also the most"`
}

// ReadArtifact returns a part of a stored text, such as a tool's result that was too large to be shown in full, and says
// how to go on when there is more. Whoever knows a hash may read what it names. It is pure and parallel.
func ReadArtifact(blobs Blobs) *tools.Tool {
	read := func(ctx context.Context, in artifactArgs) (string, error) {
		if in.Offset < 0 || in.Limit < 0 {
			return "", artifactError(OutOfRange, "offset and limit count bytes: they cannot be negative")
		}
		data, err := blobs.Blob(ctx, in.SHA256)
		if err != nil {
			return "", artifactError(NotFound, "artefact %.80q cannot be read: %v", in.SHA256, err)
		}
		return part(string(data), in.Offset, in.Limit)
	}
	return tools.Must(tools.New(tools.ReadArtifactName, "Reads a part of a stored text, such as a result that was shown shortened.", read,
		tools.ParallelSafe(), tools.WithEffect(tools.Pure), tools.KeepWhole()))
}

// part cuts bytes from..from+limit out of a text, at the borders of its characters.
func part(text string, from, limit int) (string, error) {
	if from > len(text) {
		return "", artifactError(OutOfRange, "the artefact has %d bytes", len(text))
	}
	if limit == 0 || limit > maxAnswer {
		limit = maxAnswer
	}
	to := min(len(text), from+limit)
	for to < len(text) && to > from+1 && text[to]&0xC0 == 0x80 { // not inside a character
		to--
	}
	out := strings.ToValidUTF8(text[from:to], "")
	if to < len(text) {
		out += fmt.Sprintf("\n… bytes %d to %d of %d; go on with offset %d\n", from, to, len(text), to)
	}
	return out, nil
}

func artifactError(code, format string, args ...any) error {
	return tools.Coded("ArtifactError", code, fmt.Sprintf(format, args...))
}
