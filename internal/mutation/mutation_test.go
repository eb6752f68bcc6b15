package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// A stale fault is no fault: whoever changes the code it is in mends it in faults.txt.
func TestEveryDeliberateFaultHasItsPlace(t *testing.T) {
	t.Parallel()
	faults, err := deliberate(root, table)
	require.NoError(t, err)
	require.Greater(t, len(faults), 90)
	in := map[string]int{}
	for _, f := range faults {
		in[f.pkg()]++
	}
	for _, pkg := range packages {
		require.Greater(t, in[pkg], 9, pkg)
	}
	compiler, err := newChecker(t.Context(), root)
	require.NoError(t, err)
	require.NoError(t, compiler.all(faults))
}

func TestATableThatIsWrongIsRefused(t *testing.T) {
	t.Parallel()
	const good = "fault a\nbreaks §1\nfile internal/mutation/doc.go\n- package main\n+ package other\n"
	for _, tt := range []struct{ name, text, want string }{
		{"text that is not there", strings.Replace(good, "- package main", "- package never", 1), "occurs 0 times"},
		{"text that is there twice", strings.Replace(good, "- package main", "- fault", 1), "not once"},
		{"nothing changes", strings.Replace(good, "other", "main", 1), "changes nothing"},
		{"no rule", strings.Replace(good, "breaks §1\n", "", 1), "lacks"},
		{"a word nobody knows", "falut a\n", "no known word"},
		{"no such file", strings.Replace(good, "doc.go", "dco.go", 1), "no such file"},
		{"two of one name", good + "\n" + good, "two faults"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := deliberate(root, tt.text)
			require.ErrorContains(t, err, tt.want)
		})
	}
	faults, err := deliberate(root, "# a comment\n\n"+good)
	require.NoError(t, err)
	changed, err := faults[0].applied(root)
	require.NoError(t, err)
	require.Contains(t, string(changed), "\npackage other\n")
}

const sample = `package sample

import "fmt"

func f(a, b int, list []int) (n int, err error) {
	if a < b && len(list) > 1 {
		return 7, fmt.Errorf("at %d", 3)
	}
	n = a
	n++
	g(n)
	if err != nil {
		l.Warn("n is", n)
	}
	switch {
	case a >= b:
		n = 2
	}
	list = make([]int, 5)
	x := 1 << 4
	n = x
	g(len(list))
	if b == n {
		n = b
		list = nil
	}
	return 1, nil
}

func g(int) {}

func Error(n int) bool { return n > 3 }
`

// kinds of faults in the sample, and none in its texts, capacities, shifts and functions that only say something.
func TestOperators(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sample.go")
	require.NoError(t, os.WriteFile(path, []byte(sample), 0o600))
	found, err := sitesIn(path, "sample.go")
	require.NoError(t, err)
	var names []string
	for _, s := range numbered(found) {
		names = append(names, strings.TrimPrefix(s.name, "sample.go f: "))
	}
	require.ElementsMatch(t, []string{
		"negate `a < b && len(list) > 1`",
		"connect `a < b && len(list) > 1` → ||",
		"bound `a < b` → <=",
		"bound `len(list) > 1` → >=",
		"off by 1 `len(list) > 1` → 1 is 2",
		"negate `a >= b`",
		"bound `a >= b` → >",
		"off by 1 `n = 2` → 2 is 3",
		"drop `return 7, fmt.Errorf(\"at %d\", 3)`",
		"drop `n = a`", "drop `n++`", "drop `g(n)`", "drop `n = 2`", "drop `list = make([]int, 5)`", "drop `n = x`", "drop `g(len(list))`", "drop `return 1, nil`", "negate `b == n`", "drop `n = b`", "drop `list = nil`",
		"swap `if a < b && len(list) > 1 { return 7, fmt.Errorf(\"at %d\", 3) }` → after `n = a`",
		"off by 1 `return 1, nil` → 1 is 2",
		"swap `g(len(list))` → after `if b == n { n = b list = nil }`",
		"swap `n = a` → after `n++`", "swap `n++` → after `g(n)`", "swap `n = x` → after `g(len(list))`",
	}, names)
	for _, s := range found {
		changed := sample[:s.edit.start] + s.edit.text + sample[s.edit.end:]
		require.NotEqual(t, sample, changed, s.name)
	}
}

// The same seed draws the same faults, and a fault keeps its place when others come and go.
func TestDraws(t *testing.T) {
	t.Parallel()
	all := func(seed int64, without string) []string {
		lots, err := draws(root, seed)
		require.NoError(t, err)
		for _, l := range lots {
			for i, q := range l.queues {
				if len(q) > 0 && q[0].name == without {
					l.queues[i] = q[1:]
				}
			}
		}
		drawn, refused, err := draw(lots, 24, func(f fault) (bool, error) { return !strings.Contains(f.name, "drop `return"), nil })
		require.NoError(t, err)
		require.GreaterOrEqual(t, refused, 0)
		var names []string
		for _, f := range drawn {
			require.NotContains(t, f.name, "drop `return", "it is refused")
			names = append(names, f.name)
		}
		return names
	}
	first := all(1, "")
	require.Len(t, first, 24)
	require.Equal(t, first, all(1, ""))
	require.NotEqual(t, first, all(2, ""))
	other := all(1, first[0])
	require.Subset(t, first[1:], other[1:20], "the others stay")
}

func TestTheListOfEquivalentFaults(t *testing.T) {
	t.Parallel()
	_, err := equivalents(listed)
	require.NoError(t, err)
	got, err := equivalents("# c\na b\n\tone\n\ttwo\nc\n\tthree\n")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a b": "one two", "c": "three"}, got)
	for text, want := range map[string]string{"a\n": "no reason", "a\n\tx\na\n\ty\n": "twice", "\tx\n": "of nothing"} {
		_, err := equivalents(text)
		require.ErrorContains(t, err, want)
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]string{
		"ok\n--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/one (0.1s)\n--- FAIL: TestB (0s)\n": "TestA/one",
		"panic: test timed out after 1m0s\n":                                                 "hangs",
		"x\nfatal error: stack overflow\ny\n":                                                "fatal error: stack overflow",
		"one\ntwo\n":                                                                         "failed: two",
	} {
		require.Equal(t, want, reason([]byte(out)))
	}
}

// A test is stopped when it fails, when it hangs and when it eats memory.
func TestATailNoticesAFailureInPieces(t *testing.T) {
	t.Parallel()
	n := 0
	out := &tail{limit: 20, failed: func() { n++ }}
	for _, piece := range []string{"a long line before it\n--- FA", "IL: TestX", " and more"} {
		_, err := out.Write([]byte(piece))
		require.NoError(t, err)
	}
	require.Positive(t, n)
	require.Len(t, out.text, 20)
}

// A fault is found by a test that fails or eats memory; one that nobody can see survives. The tree stays as it is.
func TestHunt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test")
	}
	t.Parallel()
	abs, err := filepath.Abs(root)
	require.NoError(t, err)
	const file = "internal/mutation/testdata/sample/sample.go"
	src, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	tests := []struct{ name, old, with, by, how string }{
		{"found", "a + b", "a - b", "internal/mutation/testdata/sample", "TestSum"},
		{"survives", "return a + b", "return b + a", "", ""},
		{"eats memory", "return a + b", "for s := []byte{1}; ; { s = append(s, s...); a += len(s) }", "internal/mutation/testdata/sample", "eats memory"},
	}
	var faults []fault
	for _, tt := range tests {
		change, err := replacing(string(src), tt.old, tt.with)
		require.NoError(t, err)
		faults = append(faults, fault{name: tt.name, file: file, edit: change})
	}
	h := &hunter{bench: &bench{root: abs, dir: t.TempDir(), memory: 1 << 30}, suite: []*stage{{pkg: "internal/mutation/testdata/sample"}}}
	require.NoError(t, h.lay(faults))
	for n, tt := range tests {
		by, how, err := h.hunt(t.Context(), n+1, faults[n])
		require.NoError(t, err)
		require.Equal(t, tt.by, by, tt.name)
		require.Equal(t, tt.how, how, tt.name)
	}
}

func TestWeave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const src = `package p

// F says something.
func F[T any](a, b int, _ ...T) (n int, err error) {
	n = a + b
	return n, nil
}

func (*x) G() { F[int](1, 2) }

type x struct{}
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.go"), []byte(src), 0o600))
	put := func(old, with string) fault {
		change, err := replacing(src, old, with)
		require.NoError(t, err)
		return fault{name: old, file: "p.go", edit: change}
	}
	files, err := weave(dir, []fault{put("a + b", "a - b"), put("F[int](1, 2)", ""), put("n = a", "n = b")})
	require.NoError(t, err)
	require.Equal(t, `package p

// F says something.
func F[T any](p0 int, p1 int, p2 ...T) (int, error) {
	switch faultOn {
	case 1:
		return fault1F[T](p0, p1, p2...)
	case 3:
		return fault3F[T](p0, p1, p2...)
	default:
		return fault0F[T](p0, p1, p2...)
	}
}

func fault0F[T any](a, b int, _ ...T) (n int, err error) {
	n = a + b
	return n, nil
}

func fault1F[T any](a, b int, _ ...T) (n int, err error) {
	n = a - b
	return n, nil
}

func fault3F[T any](a, b int, _ ...T) (n int, err error) {
	n = b + b
	return n, nil
}

func (recv *x) G() {
	switch faultOn {
	case 2:
		recv.fault2G()
	default:
		recv.fault0G()
	}
}

func (*x) fault0G() { F[int](1, 2) }

func (*x) fault2G() {  }

type x struct{}
`, files["p.go"])
	require.Contains(t, files["zz_fault.go"], "package p\n")
	_, err = weave(dir, []fault{put("type x", "type y")})
	require.ErrorContains(t, err, "not inside the body")
}
