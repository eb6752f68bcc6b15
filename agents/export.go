package agents

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
)

// An export is one file of JSON Lines: a head line with the session header, one line per event as in an exported log,
// and a foot line with the number of events and the SHA-256 of every byte before it.

type exportHead struct {
	Format  string         `json:"format"` // exportFormat
	Session session.Header `json:"session"`
}

type exportFoot struct {
	Events int64  `json:"events"`
	SHA256 string `json:"sha256"`
}

const exportFormat = "everturn.session.v1"

// Export writes the whole session to w: what the store holds, and what the agent has not flushed if a worker answers.
func (a *Agent) Export(ctx context.Context, w io.Writer) (events int64, err error) {
	header, err := a.client.Store.Header(ctx, a.id)
	if err != nil {
		return 0, a.wrap("export", err)
	}
	sum := sha256.New()
	out := json.NewEncoder(io.MultiWriter(w, sum))
	out.SetEscapeHTML(false)
	if err := out.Encode(exportHead{exportFormat, header}); err != nil {
		return 0, err
	}
	for r, err := range a.Log(ctx, 0) {
		if err != nil {
			return events, a.wrap("export", err)
		}
		if err := out.Encode(r); err != nil {
			return events, err
		}
		events++
	}
	return events, json.NewEncoder(w).Encode(exportFoot{events, hex.EncodeToString(sum.Sum(nil))})
}

// ErrDamaged says that an export was cut short or changed.
var ErrDamaged = errors.New("the export is damaged")

// Import puts an exported session into the store, under another id if one is given; [Client.Resume] brings it to life. The
// file is checked whole before anything is written: its checksum, and every rule of a valid log. The id must be free.
func (c *Client) Import(ctx context.Context, r io.Reader, id string) (session.Header, error) {
	f := exportFile{sum: sha256.New()}
	if err := f.read(r); err != nil {
		return session.Header{}, fmt.Errorf("import: %w", err)
	}
	header := f.head.Session
	if id != "" {
		header.ID = id
	}
	if err := header.Validate(); err != nil {
		return header, fmt.Errorf("import: %w", err)
	}
	if _, err := c.Store.Header(ctx, header.ID); err == nil {
		return header, fmt.Errorf("import: %w", &CreateError{Code: codeExists, Message: fmt.Sprintf("session %q is in the store already: choose another id", header.ID)})
	} else if !errors.Is(err, store.ErrNotFound) {
		return header, fmt.Errorf("import: %w", err)
	}
	return header, c.put(ctx, header, f.records)
}

// importBatch bounds the events of one segment of an imported session.
const importBatch = 5000

func (c *Client) put(ctx context.Context, header session.Header, records []session.Record) error {
	const epoch = 1
	if err := c.Store.ClaimEpoch(ctx, header.ID, epoch, fmt.Sprintf("import@%d", header.CreatedAt)); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if err := c.Store.PutHeader(ctx, header); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	var head store.Head
	for len(records) > 0 {
		n := min(len(records), importBatch)
		var err error
		if head, err = c.Store.Append(ctx, header.ID, epoch, head, records[:n]); err != nil {
			return fmt.Errorf("import: %w", err)
		}
		records = records[n:]
	}
	if head.Count == 0 {
		return nil
	}
	return c.Store.PublishHead(ctx, header.ID, epoch, head)
}

// An exportFile is an export that is being read and checked.
type exportFile struct {
	sum     hash.Hash
	head    exportHead
	records []session.Record
	foot    *exportFoot
}

func (f *exportFile) read(r io.Reader) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, session.DefaultMaxLine)
	for n := 1; in.Scan(); n++ {
		if err := f.line(n, in.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch {
	case in.Err() != nil:
		return in.Err()
	case f.foot == nil:
		return fmt.Errorf("%w: its last line is missing", ErrDamaged)
	case f.foot.Events != int64(len(f.records)):
		return fmt.Errorf("%w: it has %d events, and says %d", ErrDamaged, len(f.records), f.foot.Events)
	}
	_, err := session.Fold(f.head.Session.SeedLength, f.records)
	return err
}

func (f *exportFile) line(n int, line []byte) error {
	switch {
	case f.foot != nil:
		return fmt.Errorf("%w: something follows its last line", ErrDamaged)
	case n == 1:
		if err := json.Unmarshal(line, &f.head); err != nil || f.head.Format != exportFormat {
			return fmt.Errorf("this is not an export of format %s", exportFormat)
		}
	case bytes.HasPrefix(line, []byte(`{"events":`)):
		f.foot = &exportFoot{}
		if err := json.Unmarshal(line, f.foot); err != nil || !f.foot.is(line) || f.foot.SHA256 != hex.EncodeToString(f.sum.Sum(nil)) {
			return fmt.Errorf("%w: its checksum does not fit", ErrDamaged)
		}
		return nil
	default:
		var r session.Record
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		f.records = append(f.records, r)
	}
	f.sum.Write(line)
	f.sum.Write([]byte{'\n'})
	return nil
}

// is reports whether the line is the foot to the letter: no checksum covers it.
func (f exportFoot) is(line []byte) bool {
	own, err := json.Marshal(f)
	return err == nil && bytes.Equal(own, line)
}
