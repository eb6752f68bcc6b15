package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// Some code only says something to a person. A fault there changes a text, not what an agent does, and no rule is about
// it.

// saysOnly are functions that make such texts.
var saysOnly = map[string]bool{
	"details": true, "stepSummary": true, "short": true, "Error": true, "waitingFor": true, "waitingForCalls": true, "orNone": true,
	"explainLimit": true,
}

// speaks are functions whose arguments are such texts: errors, refusals, warnings.
var speaks = map[string]bool{
	"panic": true, "Errorf": true, "New": true, "refuse": true, "Log": true, "Warn": true, "Info": true, "Debug": true, "clip": true,
}

// labels are fields of such texts.
var labels = map[string]bool{"Summary": true, "Message": true, "Description": true}

func isText(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return speaks[called(n)]
	case *ast.KeyValueExpr:
		key, ok := n.Key.(*ast.Ident)
		return ok && labels[key.Name] && holdsText(n.Value)
	}
	return false
}

// holdsText reports whether a value is made of text, such as a constant or a formatted one.
func holdsText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.CallExpr:
		return called(e) == "Sprintf" || speaks[called(e)]
	case *ast.BinaryExpr:
		return holdsText(e.X) || holdsText(e.Y)
	}
	return false
}

// talks reports whether all that a condition decides is whether something is said.
func talks(s *ast.IfStmt) bool {
	for _, inner := range s.Body.List {
		e, ok := inner.(*ast.ExprStmt)
		if !ok || !isText(e.X) || called(e.X.(*ast.CallExpr)) == "panic" {
			return false
		}
	}
	return s.Else == nil
}

// called is the last name of what is called.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// droppable statements are those that do something and after which the function still compiles, as a rule.
func droppable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return !guards(s) && !isText(s.X)
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && !blank(s)
	case *ast.IncDecStmt, *ast.BranchStmt, *ast.ReturnStmt:
		return true
	}
	return false
}

// movable statements run one after the other.
func movable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return !guards(s) && !isText(s.X)
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	case *ast.IncDecStmt:
		return true
	case *ast.IfStmt:
		return s.Init == nil && s.Else == nil && !talks(s)
	}
	return false
}

// guards reports whether a statement takes or frees a lock: only a race would show its absence.
func guards(s *ast.ExprStmt) bool {
	c, ok := s.X.(*ast.CallExpr)
	return ok && (strings.HasSuffix(called(c), "Lock") || called(c) == "Stop" || called(c) == "Helper")
}

func blank(s *ast.AssignStmt) bool {
	id, ok := s.Lhs[0].(*ast.Ident)
	return ok && id.Name == "_"
}

// commute reports whether two statements do the same in either order, as far as their text tells: plain assignments of
// which neither reads what the other writes.
func (f *finder) commute(a, b ast.Stmt) bool {
	x, plainA := written(a)
	y, plainB := written(b)
	return plainA && plainB && !f.mentions(b, x) && !f.mentions(a, y)
}

// written is what a plain assignment changes.
func written(s ast.Stmt) (what []ast.Expr, plain bool) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Lhs, !calls(s)
	case *ast.IncDecStmt:
		return []ast.Expr{s.X}, !calls(s)
	}
	return nil, false
}

func calls(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		_, call := n.(*ast.CallExpr)
		found = found || call
		return !found
	})
	return found
}

func (f *finder) mentions(s ast.Stmt, written []ast.Expr) bool {
	for _, w := range written {
		if regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(f.text(w)) + `(\W|$)`).MatchString(f.text(s)) {
			return true
		}
	}
	return false
}

// tunes reports whether an integer is a capacity, a shift, a part of a duration, or a result that means nothing since an
// error or a false comes with it.
func tunes(above []ast.Node) bool {
	if len(above) == 0 {
		return false
	}
	switch n := above[len(above)-1].(type) {
	case *ast.ReturnStmt:
		return fails(n)
	case *ast.CallExpr:
		return called(n) == "make" || called(n) == "Buffer"
	case *ast.BinaryExpr:
		return n.Op == token.SHL || n.Op == token.SHR || n.Op == token.MUL
	}
	return false
}

// fails reports whether the last result is an error or false.
func fails(r *ast.ReturnStmt) bool {
	switch last := r.Results[len(r.Results)-1].(type) {
	case *ast.Ident:
		return last.Name == "err" || last.Name == "false"
	case *ast.CallExpr:
		return isText(last)
	}
	return false
}
