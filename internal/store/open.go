package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
)

// The values of [Options.Sync].
const (
	SyncFull = "full" // flush file and folder before a write is reported done
	SyncNone = "none" // leave it to the operating system: fast, a power failure may lose what was reported done
)

// Options configure [Open]. The zero value is fine.
type Options struct {
	Sync        string                // of a folder: SyncFull (default) or SyncNone; ?sync= of the URL wins
	CachedFolds int                   // how many folded logs to keep in memory, default 128
	Wrap        func(Objects) Objects // put around the driver, for tests and metering
}

// A Store keeps the bytes of sessions. Make one with [Open], release it with [Store.Close].
type Store struct {
	objects Objects
	id      string
	folds   *lru[foldKey, fold]
	spans   *lru[string, span]   // by hash of a segment
	seeds   *lru[string, seedOf] // by session

	mu        sync.Mutex
	published map[string]publishedHead
}

// maxSpans bounds the memory of which events a segment holds; an entry is small.
const maxSpans = 8192

// Open opens the store at a URL and creates it if there is none yet: file:///folder, a plain path of a folder, mem://
// (a new empty one every time), or any URL whose gocloud.dev/blob driver is linked into the program.
// A folder may say ?sync=none or ?sync=full.
func Open(ctx context.Context, location string, o Options) (*Store, error) {
	objects, err := openObjects(ctx, location, o)
	if err != nil {
		return nil, fmt.Errorf("open store %q: %w", redact(location), err)
	}
	if o.Wrap != nil {
		objects = o.Wrap(objects)
	}
	s := newStore(objects, o)
	if s.id, err = s.identify(ctx); err != nil {
		_ = objects.Close()
		return nil, fmt.Errorf("open store %q: %w", redact(location), err)
	}
	return s, nil
}

func newStore(objects Objects, o Options) *Store {
	cached := o.CachedFolds
	if cached <= 0 {
		cached = 128
	}
	return &Store{
		objects:   objects,
		folds:     newLRU[foldKey, fold](cached),
		spans:     newLRU[string, span](maxSpans),
		seeds:     newLRU[string, seedOf](maxSpans),
		published: map[string]publishedHead{},
	}
}

// ID returns the identity the store was given at its birth. It tells one store from another, wherever it is mounted.
func (s *Store) ID() string { return s.id }

// Close releases the driver. It does not flush anything: what was written is durable already.
func (s *Store) Close() error { return s.objects.Close() }

func openObjects(ctx context.Context, location string, o Options) (Objects, error) {
	if location == "" {
		return nil, errors.New("no location given (name a folder, or a URL like file:///var/lib/everturn)")
	}
	scheme, _, isURL := strings.Cut(location, "://")
	if !isURL {
		return openFolder(location, o.Sync)
	}
	switch scheme {
	case "file":
		return openFileURL(location, o)
	case memblob.Scheme:
		return openBucket(ctx, location)
	}
	if !blob.DefaultURLMux().ValidBucketScheme(scheme) {
		return nil, fmt.Errorf("no driver for %s:// (known: %s; others need their gocloud.dev/blob driver linked in)",
			scheme, strings.Join(knownSchemes(), " "))
	}
	return openBucket(ctx, location)
}

func knownSchemes() []string {
	known := []string{"file://"}
	for _, s := range blob.DefaultURLMux().BucketSchemes() {
		if s != "file" {
			known = append(known, s+"://")
		}
	}
	slices.Sort(known)
	return known
}

func openBucket(ctx context.Context, location string) (Objects, error) {
	b, err := blob.OpenBucket(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("%w (check the URL and the credentials of its driver)", err)
	}
	return bucket{b}, nil
}

func openFileURL(location string, o Options) (Objects, error) {
	u, err := url.Parse(location)
	if err != nil {
		return nil, err
	}
	if u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return nil, errors.New("a file URL has three slashes and an absolute path: file:///var/lib/everturn")
	}
	sync := o.Sync
	for name, values := range u.Query() {
		if name != "sync" {
			return nil, fmt.Errorf("unknown option %q (known: sync)", name)
		}
		sync = values[0]
	}
	return openFolder(filepath.FromSlash(u.Path), sync)
}

func openFolder(path, sync string) (Objects, error) {
	if sync != "" && sync != SyncFull && sync != SyncNone {
		return nil, fmt.Errorf("sync is %q (known: %s, %s)", sync, SyncFull, SyncNone)
	}
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return openFiles(root, sync != SyncNone)
}

// redact drops a password from a URL.
func redact(location string) string {
	if u, err := url.Parse(location); err == nil && u.User != nil {
		return u.Redacted()
	}
	return location
}

// identity is the object at identityKey: it makes the store one particular store.
type identity struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
}

const (
	identityKey = "store.json"
	storeFormat = 1
)

// identify reads the store's identity, or gives it one. It also proves that the place can be written to.
func (s *Store) identify(ctx context.Context) (string, error) {
	data, err := s.objects.Get(ctx, identityKey)
	if errors.Is(err, ErrNotFound) {
		data, err = s.giveIdentity(ctx)
	}
	if err != nil {
		return "", err
	}
	var id identity
	if err := json.Unmarshal(data, &id); err != nil || id.ID == "" {
		return "", damaged(identityKey, "it holds no store identity", err)
	}
	if id.Format != storeFormat {
		return "", fmt.Errorf("its format is %d, this program knows %d (use a program of the store's version)", id.Format, storeFormat)
	}
	return id.ID, nil
}

func (s *Store) giveIdentity(ctx context.Context) ([]byte, error) {
	data, err := json.Marshal(identity{Format: storeFormat, ID: strings.ToLower(rand.Text())})
	if err != nil {
		return nil, err
	}
	if err := s.objects.Create(ctx, identityKey, data); !errors.Is(err, ErrExists) {
		return data, err
	}
	return s.objects.Get(ctx, identityKey) // somebody else opened it for the first time just now
}
