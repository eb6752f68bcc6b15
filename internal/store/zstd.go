package store

import (
	"fmt"
	"runtime"

	"github.com/klauspost/compress/zstd"
)

// maxFrame bounds what one compressed frame may expand to.
const maxFrame = 1 << 30

// The coder and the decoder are stateless and shared. They are made, and used once, before main: their internal
// channels must not be born inside a test's synctest bubble.
var (
	encoder = newEncoder()
	decoder = newDecoder()
)

func newEncoder() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(min(4, runtime.GOMAXPROCS(0))), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("store: zstd encoder: " + err.Error())
	}
	e.EncodeAll([]byte("warm"), nil)
	return e
}

func newDecoder() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxFrame))
	if err != nil {
		panic("store: zstd decoder: " + err.Error())
	}
	return d
}

func compress(data []byte) []byte { return encoder.EncodeAll(data, nil) }

func decompress(frame []byte) ([]byte, error) {
	data, err := decoder.DecodeAll(frame, nil)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return data, nil
}
