package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// packages are those whose code is broken.
var packages = []string{"internal/driver", "workflows", "session", "activities"}

// A site is a place where an operator can break the code.
type site struct {
	fault
	operator string
}

// sites are all places of a package, in the order of its files.
func sites(root, pkg string) ([]site, error) {
	files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var all []site
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasSuffix(name, "_test.go") || isOracle(pkg+"/"+name) {
			continue
		}
		found, err := sitesIn(file, pkg+"/"+name)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return numbered(all), nil
}

// isOracle names the file that only tests use: it judges states and decides nothing.
func isOracle(file string) bool { return file == "internal/driver/check.go" }

func sitesIn(path, file string) ([]site, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []site
	for _, decl := range tree.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil || saysOnly[fn.Name.Name] {
			continue
		}
		f := finder{src: string(src), base: set.File(tree.Pos()).Base(), file: file, function: nameOf(fn)}
		f.visit(fn.Body)
		all = append(all, f.found...)
	}
	return all, nil
}

// nameOf is the function as a reader looks for it.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	recv := fn.Recv.List[0].Type
	if star, ok := recv.(*ast.StarExpr); ok {
		recv = star.X
	}
	if id, ok := recv.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// numbered tells apart places of the same text in the same function.
func numbered(all []site) []site {
	seen := map[string]int{}
	for i := range all {
		name := all[i].name
		if seen[name]++; seen[name] > 1 {
			all[i].name = fmt.Sprintf("%s (%d)", name, seen[name])
		}
	}
	return all
}
