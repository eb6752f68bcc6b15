package cassette

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// A Player is a provider that answers from a cassette.
type Player struct {
	file     string // without its directory
	provider string
	prepared []prepared

	mu         sync.Mutex
	recordings []*recording
}

// A recording is a stream on a line of the file.
type recording struct {
	line   int
	stream *stream
	played bool
}

var _ llm.Provider = (*Player)(nil)

// Open reads a cassette.
func Open(path string) (*Player, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open cassette: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	p := &Player{file: filepath.Base(path)}
	if err := p.read(f); err != nil {
		return nil, fmt.Errorf("open cassette %s: %w", p.file, err)
	}
	return p, nil
}

func (p *Player) read(r io.Reader) error {
	in := json.NewDecoder(r)
	for n := 1; ; n++ {
		var l line
		if err := in.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := p.add(n, l); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if p.provider == "" {
		return errors.New("it has no header")
	}
	return nil
}

func (p *Player) add(n int, l line) error {
	switch {
	case l.Header != nil && l.Header.Version != version:
		return fmt.Errorf("version %d is unknown (record it again)", l.Header.Version)
	case l.Header != nil:
		p.provider = l.Header.Provider
	case l.Prepare != nil:
		p.prepared = append(p.prepared, *l.Prepare)
	case l.Stream != nil:
		p.recordings = append(p.recordings, &recording{line: n, stream: l.Stream})
	}
	return nil
}

// Name is the name of the recorded provider.
func (p *Player) Name() string { return p.provider }

// Remaining is how many recordings were not played yet.
func (p *Player) Remaining() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, r := range p.recordings {
		if !r.played {
			n++
		}
	}
	return n
}

// Prepare answers as the recorded provider did, as often as it is asked.
func (p *Player) Prepare(_ context.Context, config session.CallConfig) (*llm.Prepared, error) {
	asked := text(config)
	var known []string
	for _, r := range p.prepared {
		if text(r.Config) == asked {
			return p.bind(r)
		}
		known = append(known, text(r.Config))
	}
	return nil, llm.Errorf(llm.InvalidRequest, fmt.Sprintf("cassette %s: the configuration %s was not recorded (recorded: %s)",
		p.file, asked, strings.Join(known, ", ")), nil)
}

func (p *Player) bind(r prepared) (*llm.Prepared, error) {
	switch {
	case r.Failure != nil:
		return nil, &llm.Error{Failure: *r.Failure}
	case r.Facts == nil:
		return nil, llm.Errorf(llm.InvalidRequest, "cassette "+p.file+": a prepared call without facts", nil)
	}
	f := *r.Facts
	return &llm.Prepared{
		Config: f.Config, Defaults: f.Defaults, ContextWindow: f.ContextWindow,
		SystemPromptUpdate: f.SystemPromptUpdate, Images: f.Images, Retry: f.Retry, Idle: f.Idle, Stream: p.play,
	}, nil
}

// play plays the recording of a request. One that was cut short stays silent after its last chunk, until ctx ends.
func (p *Player) play(ctx context.Context, req llm.Request) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) {
		s, err := p.take(DigestOf(req))
		if err != nil {
			yield(nil, err)
			return
		}
		for _, chunk := range s.Chunks {
			if !yield(chunk, nil) {
				return
			}
		}
		switch {
		case s.Failure != nil:
			yield(nil, &llm.Error{Failure: *s.Failure})
		case s.Cut:
			<-ctx.Done()
			yield(nil, llm.Errorf(llm.Aborted, "the call was cancelled", ctx.Err()))
		}
	}
}

// take finds the first recording of a request that was not played yet.
func (p *Player) take(d Digest) (*stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	played := 0
	for _, r := range p.recordings {
		if len(d.Differences(r.stream.Request)) > 0 {
			continue
		}
		if !r.played {
			r.played = true
			return r.stream, nil
		}
		played++
	}
	return nil, llm.Errorf(llm.InvalidRequest, "cassette "+p.file+": "+p.missing(d, played), nil)
}

func (p *Player) missing(d Digest, played int) string {
	switch {
	case played > 0:
		return fmt.Sprintf("the request was recorded %d time(s), and all were played", played)
	case len(p.recordings) == 0:
		return "no stream was recorded"
	}
	near := nearest(d, p.recordings)
	return fmt.Sprintf("the request was not recorded; the nearest one, on line %d, differs in: %s (record again if that is meant)",
		near.line, strings.Join(d.Differences(near.stream.Request), "; "))
}
