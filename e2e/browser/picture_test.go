package browser

import (
	"flag"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "take the pictures of docs/temporal-ui.md anew")

// pictureLimit bounds a picture, in bytes.
const pictureLimit = 150 << 10

// still is a JavaScript function that returns what a person sees of an element that does not move: left, top, width, height.
const still = `async selector => {
	const e = (` + seen + `)(selector)[0]
	if (!e) return null
	const box = () => {
		const r = e.getBoundingClientRect(), left = Math.max(r.left, 0), top = Math.max(r.top, 0)
		return [left, top, Math.min(r.right, innerWidth) - left, Math.min(r.bottom, innerHeight) - top]
	}
	const before = box()
	await new Promise(requestAnimationFrame)
	return box().every((n, i) => n === before[i]) ? before : null
}`

// picture takes a picture of an element; without a name it takes none.
func (b *tab) picture(name, selector string) {
	b.t.Helper()
	box := poll[[]float64](b, "picture "+name, still, selector)
	if !*update || name == "" {
		return
	}
	shot, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Clip: &page.Viewport{X: box[0], Y: box[1], Width: box[2], Height: box[3], Scale: 1}})
	require.NoError(b.t, err)
	require.Less(b.t, len(shot.Data), pictureLimit, name)
	require.NoError(b.t, os.WriteFile(filepath.Join("..", "..", "docs", "img", "ui-"+name+".png"), shot.Data, 0o600))
}
