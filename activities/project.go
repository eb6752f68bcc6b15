package activities

import (
	"context"
	"fmt"
	"strings"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// textMediaType marks the stored text of a large result.
const textMediaType = "text/plain; charset=utf-8"

// project is what the model is shown of a large result, or nothing: head and tail, and how to read what is between them.
// The result itself stays as it is, so a store that fails costs only the projection. See spec §9.4.
func (c *call) project(ctx context.Context, out work.ToolOut) session.Content {
	limit := c.kind.maxResultBytes()
	if limit < 0 || c.tool != nil && c.tool.KeepWhole {
		return nil
	}
	if ref, stored := storedBody(out.Content); stored && ref.Bytes <= int64(limit) {
		return nil
	}
	content, err := c.full(ctx, out.Content)
	text, plain := plainText(content)
	if err == nil && (!plain || len(text) <= limit) {
		return nil
	}
	var projection session.Content
	if err == nil {
		projection, err = c.preview(ctx, text, limit)
	}
	if err != nil {
		c.Log(ctx, "large result not projected", "session_id", c.in.Ident.Session, "call_id", c.in.Call.ID, "error", err)
		return nil
	}
	return projection
}

func (k *kind) maxResultBytes() int {
	if k.MaxResultBytes == 0 {
		return plugin.DefaultMaxResultBytes
	}
	return k.MaxResultBytes
}

// plainText joins the blocks of a result that has nothing but text.
func plainText(content session.Content) (text string, plain bool) {
	for _, b := range content {
		if _, ok := b.(session.Text); !ok {
			return "", false
		}
	}
	return content.Text(), len(content) > 0
}

// preview stores the text and cuts it.
func (c *call) preview(ctx context.Context, text string, limit int) (session.Content, error) {
	var ref session.Artifact
	err := c.try(ctx, quickTries, func(ctx context.Context) (err error) {
		ref, err = c.Store.PutBlob(ctx, []byte(text), textMediaType)
		return err
	})
	if err != nil {
		return nil, err
	}
	_, reads := c.kind.tool(c.shown, tools.ReadArtifactName)
	shown := excerpt(text, limit, func(omitted, offset int) string { return omission(omitted, len(text), offset, ref.SHA256, reads) })
	if shown == "" { // not even the note fits
		return nil, nil
	}
	return c.inline(ctx, session.TextContent(shown))
}

// omission says what is left out and how to read it.
func omission(omitted, total, offset int, sha256 string, reads bool) string {
	how := "The whole text is stored under SHA-256 " + sha256 + "."
	if reads {
		how = fmt.Sprintf(`Read on with %s {"sha256":%q,"offset":%d}.`, tools.ReadArtifactName, sha256, offset)
	}
	return fmt.Sprintf("\n\n[%d of %d bytes are left out here. %s]\n\n", omitted, total, how)
}

// excerpt is head and tail of a text around a note, all within limit bytes: four parts of the head to one of the tail.
func excerpt(text string, limit int, note func(omitted, offset int) string) string {
	room := limit - len(note(len(text), len(text)))
	if room <= 0 {
		return ""
	}
	head := strings.ToValidUTF8(text[:room*4/5], "")
	tail := strings.ToValidUTF8(text[len(text)-room/5:], "")
	return head + note(len(text)-len(head)-len(tail), len(head)) + tail
}
