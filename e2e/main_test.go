package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// The programs under test, and the folder of what the tests share.
var (
	starter   string
	devserver string
	shared    *server
	common    string
)

func TestMain(m *testing.M) {
	for variable, run := range map[string]func() error{beWorker: runWorker, beVictim: runVictim} {
		if os.Getenv(variable) == "" {
			continue
		}
		if err := run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("6") // most tests wait for another process most of the time
	}
	if testing.Short() {
		os.Exit(m.Run())
	}
	code, err := withPrograms(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

// withPrograms runs the tests with built programs and a shared server.
func withPrograms(run func() int) (int, error) {
	var err error
	if common, err = os.MkdirTemp("", "everturn-e2e-"); err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(common) }()
	starter = filepath.Join(common, "starter")
	if err := build(starter, "../cmd/starter"); err != nil {
		return 1, err
	}
	if devserver = os.Getenv("EVERTURN_DEVSERVER"); devserver == "" {
		devserver = filepath.Join(common, "devserver")
		if err := build(devserver, "../devserver"); err != nil {
			return 1, err
		}
	}
	if shared, err = startServer(filepath.Join(common, "server"), "--ephemeral", "--port", "0", "--dynamic-config", "frontend.WorkflowPauseEnabled=true",
		"--dynamic-config", "matching.wv.VersionDrainageStatusVisibilityGracePeriod=1s", "--dynamic-config", "matching.wv.VersionDrainageStatusRefreshInterval=1s"); err != nil {
		return 1, err
	}
	defer shared.kill()
	return run(), nil
}

// build compiles the program of a folder, with the flags of the Makefile so that Go's build cache serves both.
func build(to, folder string) error {
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", to, ".")
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		return failed("build "+folder, out, err)
	}
	return nil
}

// failed is the error of a command that said more than its exit code.
func failed(what string, out []byte, err error) error {
	return fmt.Errorf("%s: %w: %s", what, err, out)
}
