package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/session"
)

// segmentMagic begins every segment; a new layout gets a new one.
const segmentMagic = "everturn segment 1\n"

// A segmentHead describes a segment. It is one line of JSON after the magic, followed by two compressed frames: the
// events that are facts, and the chunks of the model's streams. A fold reads the first only.
type segmentHead struct {
	Session    string `json:"session"`
	Epoch      int64  `json:"epoch"`
	First      int64  `json:"firstSeq"`
	Count      int64  `json:"count"`
	Chunks     int64  `json:"chunks,omitempty"` // how many of Count are chunks
	Prev       Head   `json:"prev"`
	PrevFirst  int64  `json:"prevFirst"` // first seq of the segment before, so that its loss can be described
	FactBytes  int    `json:"factBytes"`
	ChunkBytes int    `json:"chunkBytes,omitempty"`
}

func (h segmentHead) end() int64 { return h.First + h.Count }

// A segment is a decoded segment whose frames are still compressed.
type segment struct {
	segmentHead
	facts, chunks []byte
}

// encodeSegment writes the stored bytes of records, which are contiguous from head.First.
func encodeSegment(head segmentHead, records []session.Record) ([]byte, error) {
	var facts, chunks bytes.Buffer
	for _, r := range records {
		buf := &facts
		if isChunk(r) {
			buf = &chunks
			head.Chunks++
		}
		if err := writeLine(buf, r); err != nil {
			return nil, err
		}
	}
	head.Count = int64(len(records))
	factFrame, chunkFrame := frame(facts.Bytes()), frame(chunks.Bytes())
	head.FactBytes, head.ChunkBytes = len(factFrame), len(chunkFrame)
	line, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{[]byte(segmentMagic), line, []byte("\n"), factFrame, chunkFrame}, nil), nil
}

func frame(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	return compress(data)
}

// decodeSegment reads the head and finds the frames. The caller has verified the hash.
func decodeSegment(data []byte) (*segment, error) {
	rest, ok := bytes.CutPrefix(data, []byte(segmentMagic))
	if !ok {
		return nil, &unreadable{errors.New("unknown segment format")}
	}
	line, frames, ok := bytes.Cut(rest, []byte("\n"))
	if !ok {
		return nil, fmt.Errorf("its description is cut off")
	}
	var s segment
	if err := json.Unmarshal(line, &s.segmentHead); err != nil {
		return nil, fmt.Errorf("its description is unreadable: %w", err)
	}
	if err := s.check(len(frames)); err != nil {
		return nil, err
	}
	s.facts, s.chunks = frames[:s.FactBytes], frames[s.FactBytes:]
	return &s, nil
}

func (h segmentHead) check(frames int) error {
	if h.Count <= 0 || h.Chunks < 0 || h.Chunks > h.Count || h.First != h.Prev.Count || h.Prev.check() != nil {
		return fmt.Errorf("its description contradicts itself")
	}
	if h.FactBytes < 0 || h.ChunkBytes < 0 || h.FactBytes+h.ChunkBytes != frames {
		return fmt.Errorf("it holds %d bytes of events, declared are %d", frames, h.FactBytes+h.ChunkBytes)
	}
	return nil
}

// readFacts decodes the events that are no chunks.
func (s *segment) readFacts() ([]session.Record, error) {
	return s.read(s.facts, s.Count-s.Chunks)
}

// readAll decodes every event in order of seq.
func (s *segment) readAll() ([]session.Record, error) {
	facts, err := s.readFacts()
	if err != nil || s.Chunks == 0 {
		return facts, err
	}
	chunks, err := s.read(s.chunks, s.Chunks)
	if err != nil {
		return nil, err
	}
	all := make([]session.Record, 0, s.Count)
	for seq := s.First; seq < s.end(); seq++ {
		from := &facts
		if len(facts) == 0 || len(chunks) > 0 && chunks[0].Seq < facts[0].Seq {
			from = &chunks
		}
		if (*from)[0].Seq != seq {
			return nil, fmt.Errorf("event %d is missing or there twice", seq)
		}
		all, *from = append(all, (*from)[0]), (*from)[1:]
	}
	return all, nil
}

// read decodes a frame of want records with ascending seqs of this segment.
func (s *segment) read(frame []byte, want int64) ([]session.Record, error) {
	if want == 0 {
		return nil, nil
	}
	data, err := decompress(frame)
	if err != nil {
		return nil, err
	}
	records := make([]session.Record, 0, min(want, int64(len(data)/8)))
	next := s.First
	for line := range bytes.Lines(data) {
		r, err := readLine(line)
		if err != nil {
			return nil, &unreadable{err}
		}
		if r.Seq < next || r.Seq >= s.end() {
			return nil, fmt.Errorf("event %d is out of order", r.Seq)
		}
		next = r.Seq + 1
		records = append(records, r)
	}
	if int64(len(records)) != want {
		return nil, fmt.Errorf("it holds %d events where %d are declared", len(records), want)
	}
	return records, nil
}

// packed is the line of a record that cites sources: they are stored as ranges, beside the record.
type packed struct {
	Sources [][2]int64      `json:"sources"`
	Record  json.RawMessage `json:"record"`
}

var packedPrefix = []byte(`{"sources":`)

func writeLine(buf *bytes.Buffer, r session.Record) error {
	sources := r.Sources
	r.Sources = nil
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if sources != nil {
		if line, err = json.Marshal(packed{packSeqs(sources), line}); err != nil {
			return err
		}
	}
	buf.Write(line)
	buf.WriteByte('\n')
	return nil
}

func readLine(line []byte) (r session.Record, err error) {
	if !bytes.HasPrefix(line, packedPrefix) {
		err = json.Unmarshal(line, &r)
		return r, err
	}
	var p packed
	if err := json.Unmarshal(line, &p); err != nil {
		return r, err
	}
	if err := json.Unmarshal(p.Record, &r); err != nil {
		return r, err
	}
	r.Sources, err = unpackSeqs(p.Sources)
	return r, err
}

func isChunk(r session.Record) bool {
	_, ok := r.Event.(session.AssistantChunk)
	return ok
}
