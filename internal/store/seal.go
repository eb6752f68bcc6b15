package store

import (
	"bytes"
	"encoding/json"
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
		return nil, damaged(key, "", nil)
	}
	return data, nil
}

// sealJSON is seal for a value that always has a JSON form.
func sealJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("store: " + err.Error())
	}
	return seal(data)
}

// unsealJSON reads what sealJSON wrote.
func unsealJSON[T any](key string, sealed []byte) (v T, err error) {
	data, err := unseal(key, sealed)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, damaged(key, err.Error(), err)
	}
	return v, nil
}
