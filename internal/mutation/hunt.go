package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A hunter runs the tests against faults.
type hunter struct {
	*bench
	suite []*stage
	trust bool // the tests are known to pass without a fault
	own   bool // only the test of the fault's own package is run
}

// hunt runs the tests that can find the fault until one does. by is the package whose test it was, empty if it survived.
func (h *hunter) hunt(ctx context.Context, n int, f fault) (by, how string, err error) {
	stages, err := reaching(ctx, h.root, f.pkg(), h.suite)
	if err != nil {
		return "", "", err
	}
	for _, s := range stages {
		if h.own && s.pkg != f.pkg() {
			break
		}
		if err := h.ready(ctx, s); err != nil {
			return "", "", err
		}
		v, err := h.test(ctx, s, n)
		if err != nil || v.failed {
			return s.pkg, v.how, err
		}
	}
	return "", "", nil
}

// ready builds the test of a stage, and runs it without a fault: a test that fails by itself finds nothing.
func (h *hunter) ready(ctx context.Context, s *stage) error {
	if s.binary != "" {
		return nil
	}
	var err error
	if s.binary, err = h.build(ctx, s.pkg); err != nil || h.trust {
		return err
	}
	began := time.Now()
	switch v, err := h.test(ctx, s, 0); {
	case err != nil:
		return err
	case v.failed:
		return fmt.Errorf("the test of %s fails without a fault: %s", s.pkg, v.how)
	}
	s.usual = time.Since(began)
	return nil
}

// lay writes the files with the faults and says where they lie over the tree.
func (b *bench) lay(faults []fault) error {
	files, err := weave(b.root, faults)
	if err != nil {
		return err
	}
	over := map[string]string{}
	for file, text := range files {
		changed := filepath.Join(b.dir, strings.ReplaceAll(file, "/", "-")+".txt")
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return err
		}
		over[filepath.Join(b.root, file)] = changed
	}
	raw, err := json.Marshal(map[string]any{"Replace": over})
	if err != nil {
		return err
	}
	return os.WriteFile(b.overlay(), raw, 0o600)
}

func (b *bench) overlay() string { return filepath.Join(b.dir, "overlay.json") }
