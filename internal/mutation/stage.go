package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const module = "github.com/everturn/everturn/"

// A stage is the test of one package.
type stage struct {
	pkg   string
	run   string // which tests; empty: all
	reach map[string]bool

	binary string        // empty: not built yet
	usual  time.Duration // how long it takes without a fault
}

// suite is what is run against a fault, from the cheapest to the dearest.
func suite() []*stage {
	return []*stage{
		{pkg: "session"}, {pkg: "workflows"}, {pkg: "activities"}, {pkg: "conformance", run: "^TestLocal$"}, {pkg: "agents"},
		{pkg: "internal/local"}, {pkg: "internal/driver"}, {pkg: "internal/explore"},
	}
}

// reaching are the stages that a fault in a package can make fail, the package's own first.
func reaching(ctx context.Context, root, pkg string, all []*stage) ([]*stage, error) {
	var own, others []*stage
	for _, s := range all {
		switch ok, err := s.reaches(ctx, root, pkg); {
		case err != nil:
			return nil, err
		case ok && s.pkg == pkg:
			own = append(own, s)
		case ok:
			others = append(others, s)
		}
	}
	return slices.Concat(own, others), nil
}

// reaches reports whether the test is built of the package.
func (s *stage) reaches(ctx context.Context, root, pkg string) (bool, error) {
	if s.reach == nil {
		cmd := exec.CommandContext(ctx, "go", "list", "-test", "-deps", "./"+s.pkg)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return false, fmt.Errorf("go list %s: %w", s.pkg, err)
		}
		s.reach = map[string]bool{}
		for line := range strings.Lines(string(out)) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), " ") // of a variant built for a test
			s.reach[strings.TrimPrefix(name, module)] = true
		}
	}
	return s.reach[pkg], nil
}

// A test that has a fault gets much longer than one that has none: other programs run on the machine too.
const (
	slower   = 10
	atLeast  = 2 * time.Minute
	atMost   = 10 * time.Minute
	lastWord = 10 * time.Second // to say where it hangs
)

func (s *stage) patience() time.Duration {
	return min(max(slower*s.usual, atLeast), atMost)
}
