package vendor

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// A Loader returns the bytes of a stored picture.
type Loader func(ctx context.Context, image session.Image) ([]byte, error)

// What one request may carry. When there is more, the oldest pictures give way in groups, so that the prefix of the
// prompt, which vendors cache, changes rarely. See spec §9.5.
const (
	maxPictures     = 100
	maxPictureBytes = 20 << 20
	pictureGroup    = 10
)

// Pictures hands out the pictures of one request in the order of its messages.
type Pictures struct {
	ctx  context.Context // the request's; this value lives no longer than building it
	load Loader
	skip int
}

// NewPictures decides which pictures of the messages are shown; those in tool results count only if inResults. Without
// a loader none is shown.
func NewPictures(ctx context.Context, load Loader, inResults bool, messages []session.Message) *Pictures {
	var sizes []int64
	for _, m := range messages {
		sizes = appendSizes(sizes, inResults, m.Content)
	}
	return &Pictures{ctx: ctx, load: load, skip: surplus(sizes)}
}

func appendSizes(sizes []int64, inResults bool, content session.Content) []int64 {
	for _, b := range content {
		switch b := b.(type) {
		case session.Image:
			sizes = append(sizes, b.Bytes)
		case session.ToolResultBlock:
			if inResults {
				sizes = appendSizes(sizes, inResults, b.Content)
			}
		}
	}
	return sizes
}

// surplus is how many of the oldest pictures do not fit.
func surplus(sizes []int64) int {
	var total int64
	fit := 0
	for i := len(sizes) - 1; i >= 0 && fit < maxPictures; i-- {
		if total += sizes[i]; total > maxPictureBytes {
			break
		}
		fit++
	}
	drop := len(sizes) - fit
	grouped := (drop + pictureGroup - 1) / pictureGroup * pictureGroup
	if grouped < len(sizes) {
		return grouped
	}
	return drop
}

// Next returns the next picture as base64, or false if its stand-in is shown.
func (p *Pictures) Next(image session.Image) (mediaType, data string, shown bool, err error) {
	if p.load == nil {
		return "", "", false, nil
	}
	if p.skip > 0 {
		p.skip--
		return "", "", false, nil
	}
	raw, err := p.load(p.ctx, image)
	if err != nil {
		return "", "", false, llm.Errorf(llm.UnsupportedContent, fmt.Sprintf("load picture %s: %v", image.Attachment, err), err)
	}
	mediaType = image.MediaType
	if mediaType == "" {
		mediaType = http.DetectContentType(raw)
	}
	return mediaType, base64.StdEncoding.EncodeToString(raw), true, nil
}
