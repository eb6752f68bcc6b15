package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// The operators.
const (
	negate   = "negate"   // a condition
	either   = "connect"  // && for ||, or the other way round
	bound    = "bound"    // < for <=, > for >=, or the other way round
	drop     = "drop"     // a statement
	swap     = "swap"     // two neighbouring statements
	offByOne = "off by 1" // an integer
)

var operators = []string{negate, either, bound, drop, swap, offByOne}

// A finder collects the places of one function.
type finder struct {
	src      string
	base     int // of the file's positions
	file     string
	function string
	found    []site
}

func (f *finder) at(p token.Pos) int { return int(p) - f.base }

func (f *finder) text(n ast.Node) string { return f.src[f.at(n.Pos()):f.at(n.End())] }

// add notes a place: what is shown of it is the text of the node, and what is put in its place.
func (f *finder) add(operator string, n ast.Node, e edit, shown string) {
	name := fmt.Sprintf("%s %s: %s `%s`", f.file, f.function, operator, oneLine(f.text(n)))
	if shown != "" {
		name += " → " + shown
	}
	f.found = append(f.found, site{fault{name: name, file: f.file, edit: e}, operator})
}

// oneLine is code as a short line.
func oneLine(code string) string {
	const limit = 110
	text := strings.Join(strings.Fields(code), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return text
}

func (f *finder) visit(body *ast.BlockStmt) {
	var above []ast.Node
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return false
		}
		if isText(n) {
			return false
		}
		f.node(n, above)
		above = append(above, n)
		return true
	})
}

func (f *finder) node(n ast.Node, above []ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		if !talks(n) {
			f.negate(n.Cond)
		}
	case *ast.ForStmt:
		f.negate(n.Cond)
	case *ast.SwitchStmt:
		f.cases(n)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BasicLit:
		f.integer(n, above)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	}
}

func (f *finder) negate(cond ast.Expr) {
	if cond == nil {
		return
	}
	f.add(negate, cond, edit{f.at(cond.Pos()), f.at(cond.End()), "!(" + f.text(cond) + ")"}, "")
}

// cases are the conditions of a switch without a tag.
func (f *finder) cases(s *ast.SwitchStmt) {
	if s.Tag != nil {
		return
	}
	for _, c := range s.Body.List {
		for _, cond := range c.(*ast.CaseClause).List {
			f.negate(cond)
		}
	}
}

var turned = map[token.Token]struct {
	with     token.Token
	operator string
}{
	token.LAND: {token.LOR, either}, token.LOR: {token.LAND, either},
	token.LSS: {token.LEQ, bound}, token.LEQ: {token.LSS, bound}, token.GTR: {token.GEQ, bound}, token.GEQ: {token.GTR, bound},
}

func (f *finder) binary(b *ast.BinaryExpr) {
	t, ok := turned[b.Op]
	if !ok {
		return
	}
	start := f.at(b.OpPos)
	f.add(t.operator, b, edit{start, start + len(b.Op.String()), t.with.String()}, t.with.String())
}

// integer adds one. Capacities, shifts and durations are left alone: they tune, they do not decide.
func (f *finder) integer(lit *ast.BasicLit, above []ast.Node) {
	n, err := strconv.Atoi(lit.Value)
	if lit.Kind != token.INT || err != nil || tunes(above) {
		return
	}
	with := strconv.Itoa(n + 1)
	f.add(offByOne, within(above, lit), edit{f.at(lit.Pos()), f.at(lit.End()), with}, fmt.Sprintf("%d is %s", n, with))
}

// within is the smallest expression or statement around a literal that says what it is for.
func within(above []ast.Node, lit ast.Node) ast.Node {
	if len(above) == 0 {
		return lit
	}
	return above[len(above)-1]
}

func (f *finder) statements(list []ast.Stmt) {
	for i, s := range list {
		if droppable(s) {
			f.add(drop, s, edit{f.at(s.Pos()), f.at(s.End()), ""}, "")
		}
		if i > 0 && movable(list[i-1]) && movable(s) && !f.commute(list[i-1], s) {
			f.swap(list[i-1], s)
		}
	}
}

func (f *finder) swap(a, b ast.Stmt) {
	between := f.src[f.at(a.End()):f.at(b.Pos())]
	f.add(swap, a, edit{f.at(a.Pos()), f.at(b.End()), f.text(b) + between + f.text(a)}, "after `"+oneLine(f.text(b))+"`")
}
