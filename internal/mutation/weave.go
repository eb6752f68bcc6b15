package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// All faults are compiled in at once, so that each test is built once: a function with faults becomes a choice between
// itself and one copy for each of them.
//
//	func (d *Driver) claim() []string {
//		switch faultOn {
//		case 7:
//			return d.fault7claim()
//		}
//		return d.fault0claim()
//	}
//
// Which one is on is said by [choice] in the environment of the test; none if it is not set.
const choice = "MUTATION_FAULT"

// chooser is a file of its own in every package with faults.
const chooser = `package %s

import (
	"os"
	"strconv"
)

var faultOn = func() int { n, _ := strconv.Atoi(os.Getenv(%q)); return n }()
`

// weave is the changed files of all packages with faults, by path from the root. The n-th fault is number n+1.
func weave(root string, faults []fault) (map[string]string, error) {
	out := map[string]string{}
	byFile := map[string][]int{}
	for n, f := range faults {
		byFile[f.file] = append(byFile[f.file], n+1)
	}
	for file, numbers := range byFile {
		w, err := newWeaver(root, file)
		if err != nil {
			return nil, err
		}
		for _, n := range numbers {
			if err := w.take(n, faults[n-1]); err != nil {
				return nil, err
			}
		}
		out[file] = w.woven()
		out[filepath.ToSlash(filepath.Join(filepath.Dir(file), "zz_fault.go"))] = fmt.Sprintf(chooser, w.tree.Name.Name, choice)
	}
	return out, nil
}

// A weaver changes one file.
type weaver struct {
	src   string
	base  int
	tree  *ast.File
	taken map[*ast.FuncDecl][]change
}

// A change is a fault with its number; 0 is none.
type change struct {
	n int
	edit
}

func newWeaver(root, file string) (*weaver, error) {
	src, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &weaver{src: string(src), base: set.File(tree.Pos()).Base(), tree: tree, taken: map[*ast.FuncDecl][]change{}}, nil
}

func (w *weaver) at(p token.Pos) int { return int(p) - w.base }

// take finds the function of a fault.
func (w *weaver) take(n int, f fault) error {
	for _, decl := range w.tree.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if ok && fn.Body != nil && w.at(fn.Body.Pos()) <= f.edit.start && f.edit.end <= w.at(fn.Body.End()) {
			w.taken[fn] = append(w.taken[fn], change{n, f.edit})
			return nil
		}
	}
	return fmt.Errorf("fault %q is not inside the body of a function: choose other text", f.name)
}

// woven is the file with all copies and choices.
func (w *weaver) woven() string {
	var functions []*ast.FuncDecl
	for fn := range w.taken {
		functions = append(functions, fn)
	}
	slices.SortFunc(functions, func(a, b *ast.FuncDecl) int { return cmp.Compare(b.Pos(), a.Pos()) }) // from the end: positions stay
	out := w.src
	for _, fn := range functions {
		out = out[:w.at(fn.Pos())] + w.choose(fn) + out[w.at(fn.End()):]
	}
	return out
}

// choose is the function as a choice.
func (w *weaver) choose(fn *ast.FuncDecl) string {
	s := w.signature(fn)
	all := append([]change{{}}, w.taken[fn]...)
	var copies, cases strings.Builder
	for _, c := range all {
		fmt.Fprintf(&copies, "\n\n%s", w.copied(fn, c))
		if c.n > 0 {
			fmt.Fprintf(&cases, "\tcase %d:\n\t\t%s\n", c.n, s.call(c.n))
		}
	}
	return fmt.Sprintf("%s {\n\tswitch faultOn {\n%s\tdefault:\n\t\t%s\n\t}\n}", s.head, cases.String(), s.call(0)) + copies.String()
}

// copied is the function under the name of the fault, with its change.
func (w *weaver) copied(fn *ast.FuncDecl, c change) string {
	start, end, name := w.at(fn.Pos()), w.at(fn.End()), w.at(fn.Name.Pos())
	body := w.src[start:end]
	if c.n > 0 {
		body = w.src[start:c.start] + c.text + w.src[c.end:end]
	}
	return body[:name-start] + copyName(c.n, fn) + body[w.at(fn.Name.End())-start:]
}

func copyName(n int, fn *ast.FuncDecl) string { return fmt.Sprintf("fault%d%s", n, fn.Name.Name) }

// A signature is a function as its choice has it: every parameter has a name, no result has one.
type signature struct {
	head string
	call func(n int) string
}

func (w *weaver) signature(fn *ast.FuncDecl) signature {
	recv, on := "", ""
	if fn.Recv != nil {
		recv, on = fmt.Sprintf("(recv %s) ", w.text(fn.Recv.List[0].Type)), "recv."
	}
	params, args := w.parameters(fn.Type.Params)
	kinds, names := w.kinds(fn.Type.TypeParams)
	results, back := w.results(fn.Type.Results)
	return signature{
		head: fmt.Sprintf("func %s%s%s(%s)%s", recv, fn.Name.Name, kinds, params, results),
		call: func(n int) string { return fmt.Sprintf("%s%s%s%s(%s)", back, on, copyName(n, fn), names, args) },
	}
}

func (w *weaver) text(n ast.Node) string { return w.src[w.at(n.Pos()):w.at(n.End())] }

func (w *weaver) parameters(list *ast.FieldList) (params, args string) {
	var ps, as []string
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			name := fmt.Sprintf("p%d", len(ps))
			ps = append(ps, name+" "+w.text(f.Type))
			if _, variadic := f.Type.(*ast.Ellipsis); variadic {
				name += "..."
			}
			as = append(as, name)
		}
	}
	return strings.Join(ps, ", "), strings.Join(as, ", ")
}

func (w *weaver) kinds(list *ast.FieldList) (kinds, names string) {
	if list == nil {
		return "", ""
	}
	var all []string
	for _, f := range list.List {
		for _, name := range f.Names {
			all = append(all, name.Name)
		}
	}
	return w.text(list), "[" + strings.Join(all, ", ") + "]"
}

// results are the types, and what a call of a copy begins with.
func (w *weaver) results(list *ast.FieldList) (results, back string) {
	if list == nil {
		return "", ""
	}
	var all []string
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			all = append(all, w.text(f.Type))
		}
	}
	return " (" + strings.Join(all, ", ") + ")", "return "
}
