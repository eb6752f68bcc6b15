package store

import (
	"bytes"
	"fmt"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal puts a checksum line before data that is not named by its hash.
func seal(data []byte) []byte {
	return append(fmt.Appendf(nil, "%08x\n", crc32.Checksum(data, castagnoli)), data...)
}

// unseal verifies and removes the checksum.
func unseal(key string, sealed []byte) ([]byte, error) {
	_, data, ok := bytes.Cut(sealed, []byte("\n"))
	if !ok || !bytes.Equal(seal(data), sealed) {
		return nil, &CorruptError{Key: key, FirstSeq: -1, LastSeq: -1, Reason: "its bytes are damaged"}
	}
	return data, nil
}
