package browser

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// patience bounds a wait that only a hanging program reaches.
const patience = 120 * time.Second

// chromium finds the browser. CI has to have one.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("there is no chromium: .ci/run has to install Debian's package of that name")
	}
	t.Skip("there is no chromium on the PATH: install Debian's package of that name")
	return ""
}

// A tab is what a person has in front of them.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// browse starts a browser with one tab.
func browse(t *testing.T) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)),
		chromedp.NoSandbox) // root and containers have none, and it sees nothing but the server's own page
	alloc, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(alloc)
	t.Cleanup(end)
	b := &tab{t: t, ctx: ctx}
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 850, chromedp.EmulateScale(1)))) // the browser lives as long as this context
	return b
}

// do carries out an action within reason.
func do[T any](b *tab, what string, a chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	out, err := chromedp.Run(ctx, a)
	if err != nil {
		b.failure(what, err)
	}
	return out
}

// failure ends the test and says what was to be seen instead.
func (b *tab) failure(what string, err error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	shown, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`location.pathname + "\n" + document.body.innerText`))
	require.FailNow(b.t, what+": "+err.Error(), "the page shows: %s", shown)
}

func (b *tab) open(url string) {
	b.t.Helper()
	do(b, "open a page", chromedp.Navigate(url))
}

// seen is a JavaScript function that finds what a person would: the visible elements that match, whose text, or its first
// line, is the wanted one.
const seen = `(selector, text) => {
	const plain = s => s.replace(/\s+/g, " ").trim()
	return [...document.querySelectorAll(selector)].filter(e =>
		e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && e.getClientRects().length > 0 &&
		(!text || plain(e.innerText) === text || plain(e.innerText.trim().split("\n")[0]) === text))
}`

// place is a JavaScript function that returns the middle of an element if it can be clicked: it is enabled, nothing covers
// it and it does not move. It lets the page remember whether the next click hits it, or what was drawn in its place.
const place = `async (selector, text) => {
	const seen = ` + seen + `
	const e = seen(selector, text)[0]
	if (!e || e.disabled || e.ariaDisabled === "true") return null
	e.scrollIntoView({block: "nearest"})
	const middle = () => { const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] }
	const before = middle()
	await new Promise(requestAnimationFrame)
	const [x, y] = middle()
	if (!e.contains(document.elementFromPoint(x, y)) || before[0] !== x || before[1] !== y) return null
	window.hit = false
	const look = event => { window.hit = seen(selector, text).some(e => e.contains(event.target)) }
	window.addEventListener("click", look, {capture: true, once: true})
	return [x, y]
}`

// click clicks what a person sees, again if it moved away from under the mouse.
func (b *tab) click(selector, text string) {
	b.t.Helper()
	for range 20 {
		at := poll[[]float64](b, "click "+selector+" "+text, place, selector, text)
		do(b, "click", chromedp.MouseClickXY(at[0], at[1]))
		if do(b, "look whether it was hit", chromedp.Evaluate[bool](`window.hit`)) {
			return
		}
	}
	b.failure("click "+selector+" "+text, errors.New("it does not keep still"))
}

// sees waits until an element is there and returns its text.
func (b *tab) sees(selector, text string) string {
	b.t.Helper()
	return poll[string](b, "see "+selector+" "+text, `(selector, text) => (`+seen+`)(selector, text)[0]?.innerText`, selector, text)
}

// gone waits until the page has no such element.
func (b *tab) gone(selector string) {
	b.t.Helper()
	poll[bool](b, selector+" goes away", `selector => document.querySelector(selector) === null`, selector)
}

// fill puts a text into a field in the place of what was there, as one pastes it.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.click(selector, "")
	do(b, "select all", chromedp.KeyEvent("a", chromedp.KeyModifiers(kb.ModifierCtrl)))
	do(b, "delete", chromedp.KeyEvent(kb.Backspace))
	_, err := chromedp.Call(b.ctx, input.InsertText, input.InsertTextParams{Text: text})
	require.NoError(b.t, err)
}

// poll waits until a JavaScript function returns something.
func poll[T any](b *tab, what, function string, args ...any) T {
	b.t.Helper()
	return do(b, what, chromedp.PollFunction[T](function, chromedp.WithPollingArgs(args...), chromedp.WithPollingTimeout(patience)))
}

// The frames that show Markdown.
const (
	summary = "user-metadata-summary"
	details = "user-metadata-current-details"
)

// frame is a JavaScript function that returns what a frame shows, if a text is in it.
const frame = `(id, text) => {
	const shown = document.getElementById(id)?.contentDocument?.body?.innerText.replace(/\s+/g, " ") ?? ""
	return shown.includes(text) ? shown : null
}`

// readsFrame waits until a frame shows a text and returns all that it shows.
func (b *tab) readsFrame(id, text string) string {
	b.t.Helper()
	return poll[string](b, "read "+text, frame, id, text)
}

// reads waits until the details show a text; the page has them fetched anew by a key.
func (b *tab) reads(text string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		shown, err := chromedp.Run(ctx, chromedp.PollFunction[string](frame, chromedp.WithPollingArgs(details, text), chromedp.WithPollingTimeout(time.Second)))
		if err == nil {
			return shown
		}
		if ctx.Err() != nil {
			b.failure("read "+text, err)
		}
		do(b, "press R", chromedp.KeyEvent("r"))
	}
}
