package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A checker says what the compiler would say of a fault, without compiling: it knows what each package imports by its
// export data.
type checker struct {
	root    string
	exports map[string]string // import path to file
	imports types.Importer
	set     *token.FileSet
}

func newChecker(ctx context.Context, root string) (*checker, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, pkg := range packages {
		args = append(args, "./"+pkg)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -export: %w", err)
	}
	c := &checker{root: root, exports: map[string]string{}, set: token.NewFileSet()}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		c.exports[name] = file
	}
	c.imports = importer.ForCompiler(c.set, "gc", c.open)
	return c, nil
}

func (c *checker) open(path string) (io.ReadCloser, error) { return os.Open(c.exports[path]) }

// compiles reports whether the package of the fault still compiles.
func (c *checker) compiles(f fault) (bool, error) {
	changed, err := f.applied(c.root)
	if err != nil {
		return false, err
	}
	files, err := filepath.Glob(filepath.Join(c.root, f.pkg(), "*.go"))
	if err != nil {
		return false, err
	}
	var trees []*ast.File
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		var src any
		if file == filepath.Join(c.root, f.file) {
			src = bytes.NewReader(changed)
		}
		tree, err := parser.ParseFile(c.set, file, src, parser.SkipObjectResolution)
		if err != nil {
			return false, nil
		}
		trees = append(trees, tree)
	}
	config := types.Config{Importer: c.imports, Error: func(error) {}}
	_, err = config.Check(module+f.pkg(), c.set, trees, nil)
	return err == nil, nil
}

// errCompile says that a fault is none, since the compiler refuses it.
var errCompile = errors.New("it does not compile")

// all is an error if some of the faults are none.
func (c *checker) all(faults []fault) error {
	var errs []error
	for _, f := range faults {
		switch ok, err := c.compiles(f); {
		case err != nil:
			return err
		case !ok:
			errs = append(errs, fmt.Errorf("fault %q: %w", f.name, errCompile))
		}
	}
	return errors.Join(errs...)
}
