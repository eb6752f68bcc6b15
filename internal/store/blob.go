package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/session"
)

// PutBlob stores a body too large to keep inline and returns how content refers to it. The same bytes twice are one
// object. See spec §9.4.
func (s *Store) PutBlob(ctx context.Context, data []byte, mediaType string) (session.Artifact, error) {
	hash := hashOf(data)
	if err := s.createContent(ctx, "store blob", contentKey("blobs", hash), data); err != nil {
		return session.Artifact{}, err
	}
	return session.Artifact{SHA256: hash, Bytes: int64(len(data)), MediaType: mediaType}, nil
}

// Blob returns the bytes of a stored body. It returns [ErrNotFound] if there is none and a [*CorruptError] if its bytes
// do not match the hash.
func (s *Store) Blob(ctx context.Context, sha256 string) ([]byte, error) {
	if !isHash(sha256) {
		return nil, fmt.Errorf("blob %q: not a SHA-256 in lower-case hexadecimal", sha256)
	}
	key := contentKey("blobs", sha256)
	data, err := s.objects.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("blob %s: %w (it was never stored here, or it was deleted)", sha256, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	if hashOf(data) != sha256 {
		return nil, &CorruptError{Key: key, Hash: sha256, FirstSeq: -1, LastSeq: -1, Reason: "its bytes are damaged"}
	}
	return data, nil
}
