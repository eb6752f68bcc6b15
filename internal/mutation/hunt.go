package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A hunter runs the tests against faults.
type hunter struct {
	*bench
	suite []*stage
	trust bool // the tests are known to pass without a fault
	own   bool // the others are not run
}

// hunt runs the tests that can find the fault until one does. by is the package whose test it was, empty if it survived.
func (h *hunter) hunt(ctx context.Context, f fault) (by, how string, err error) {
	stages, err := reaching(ctx, h.root, f.pkg(), h.suite)
	if err != nil {
		return "", "", err
	}
	overlay, err := h.lay(f)
	if err != nil {
		return "", "", err
	}
	for _, s := range stages {
		if h.own && s.pkg != f.pkg() {
			break
		}
		if err := h.measure(ctx, s); err != nil {
			return "", "", err
		}
		v, err := h.stage(ctx, s, overlay)
		if err != nil || v.failed {
			return s.pkg, v.how, err
		}
	}
	return "", "", nil
}

func (h *hunter) stage(ctx context.Context, s *stage, overlay string) (verdict, error) {
	binary, err := h.build(ctx, s.pkg, overlay)
	if err != nil {
		return verdict{}, err
	}
	return h.test(ctx, s, binary)
}

// lay writes the file with the fault and says where it lies over the tree.
func (h *hunter) lay(f fault) (overlay string, err error) {
	src, err := f.applied(h.root)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(h.dir, "fault.go.txt")
	if err := os.WriteFile(changed, src, 0o600); err != nil {
		return "", err
	}
	raw, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(h.root, f.file): changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(h.dir, "overlay.json")
	return overlay, os.WriteFile(overlay, raw, 0o600)
}

// measure runs a stage without a fault, once: a test that fails by itself finds nothing.
func (h *hunter) measure(ctx context.Context, s *stage) error {
	if s.usual > 0 || h.trust {
		return nil
	}
	binary, err := h.build(ctx, s.pkg, "")
	if err != nil {
		return fmt.Errorf("the test of %s: %w", s.pkg, err)
	}
	began := time.Now()
	v, err := h.test(ctx, s, binary)
	if err != nil {
		return err
	}
	if v.failed {
		return fmt.Errorf("the test of %s fails without a fault: %s", s.pkg, v.how)
	}
	s.usual = time.Since(began)
	return nil
}
