package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// addressFile is where a development server says how to reach it, inside the home folder.
const addressFile = "dev.json"

// serverPackage is the development server's module.
const serverPackage = "github.com/everturn/everturn/devserver"

func alive(pid int) bool { return pid > 0 && syscall.Kill(pid, 0) == nil }

// serverOptions say how to start a development server.
type serverOptions struct {
	ephemeral    bool // in memory, on free ports, known to nobody else
	port, uiPort int
	sync         string
	dynamic      []string
}

// startServer runs a development server until the program ends.
func (a *app) startServer(ctx context.Context, o serverOptions) (served, error) {
	home, err := a.homeDir()
	if err != nil {
		return served{}, err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return served{}, err
	}
	if path, err := exec.LookPath("temporal"); err == nil && !o.ephemeral {
		return a.startCLI(ctx, path, home, o)
	}
	path, err := a.serverBinary(ctx, home)
	if err != nil {
		return served{}, err
	}
	return a.startEmbedded(ctx, path, home, o)
}

func (a *app) startEmbedded(ctx context.Context, path, home string, o serverOptions) (served, error) {
	args := []string{"--parent-pid", fmt.Sprint(os.Getpid()), "--log-level", "fatal"}
	if o.ephemeral {
		args = append(args, "--ephemeral", "--port", "0", "--ui-port", "0")
	} else {
		args = append(args, "--db", filepath.Join(home, "temporal.db"), "--address-file", filepath.Join(home, addressFile),
			"--port", fmt.Sprint(o.port), "--ui-port", fmt.Sprint(o.uiPort))
	}
	if o.sync != "" {
		args = append(args, "--sync", o.sync)
	}
	for _, d := range o.dynamic {
		args = append(args, "--dynamic-config", d)
	}
	cmd := exec.Command(path, args...)
	cmd.Stderr = a.err
	out, err := cmd.StdoutPipe()
	if err != nil {
		return served{}, err
	}
	if err := a.spawn(cmd); err != nil {
		return served{}, err
	}
	return readServed(ctx, out)
}

// spawn starts a child in a process group of its own, so that a Ctrl-C meant for the chat does not hit it, and stops
// it when the program ends.
func (a *app) spawn(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	a.defers(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return nil
}

// readServed waits for the one line the server prints when it serves.
func readServed(ctx context.Context, out io.Reader) (served, error) {
	type result struct {
		s   served
		err error
	}
	done := make(chan result, 1)
	go func() {
		line, err := bufio.NewReader(out).ReadBytes('\n')
		r := result{err: err}
		if err == nil {
			r.err = json.Unmarshal(line, &r.s)
		}
		done <- r
	}()
	select {
	case r := <-done:
		if errors.Is(r.err, io.EOF) {
			return r.s, fail(exitUnreachable, errors.New("the development server did not start; its reason is above"))
		}
		return r.s, r.err
	case <-ctx.Done():
		return served{}, ctx.Err()
	}
}

// startCLI runs the Temporal CLI's development server, if there is one on the PATH.
func (a *app) startCLI(ctx context.Context, path, home string, o serverOptions) (served, error) {
	args := []string{"server", "start-dev", "--log-level", "error", "--db-filename", filepath.Join(home, "temporal-cli.db"),
		"--port", fmt.Sprint(o.port), "--ui-port", fmt.Sprint(o.uiPort)}
	for _, d := range append([]string{
		"history.transferProcessorMaxPollRPS=2000", "history.timerProcessorMaxPollRPS=2000", "history.visibilityProcessorMaxPollRPS=2000",
		`history.timerProcessorMaxTimeShift="50ms"`, "frontend.WorkerCommandsEnabled=true", "system.enableCancelActivityWorkerCommand=true",
	}, o.dynamic...) {
		args = append(args, "--dynamic-config-value", d)
	}
	cmd := exec.Command(path, args...)
	cmd.Stderr = a.err
	if err := a.spawn(cmd); err != nil {
		return served{}, err
	}
	s := served{Address: fmt.Sprintf("127.0.0.1:%d", o.port), UIAddress: fmt.Sprintf("http://127.0.0.1:%d", o.uiPort), Namespace: "default", PID: cmd.Process.Pid}
	if err := waitListening(ctx, s.Address); err != nil {
		return s, err
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	file := filepath.Join(home, addressFile)
	a.defers(func() { _ = os.Remove(file) })
	return s, os.WriteFile(file, raw, 0o600)
}

func waitListening(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return fail(exitUnreachable, fmt.Errorf("the Temporal CLI's server does not listen on %s: %w", address, err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// serverBinary returns the development server's program and builds it the first time.
func (a *app) serverBinary(ctx context.Context, home string) (string, error) {
	if path := os.Getenv("EVERTURN_DEVSERVER"); path != "" {
		return path, nil
	}
	source, version := serverSource()
	name, err := binaryName(source, version)
	if err != nil {
		return "", err
	}
	path := filepath.Join(home, "bin", name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, a.buildServer(ctx, source, version, path)
}

// serverSource is the devserver folder of the clone this program runs in, or the version of the installed program.
func serverSource() (dir, version string) {
	if dir, err := os.Getwd(); err == nil {
		for {
			if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(mod), "module github.com/everturn/everturn\n") {
				return filepath.Join(dir, "devserver"), ""
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	version = "latest"
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		version = info.Main.Version
	}
	return "", version
}

// binaryName changes whenever the program would.
func binaryName(source, version string) (string, error) {
	if source == "" {
		return "devserver-" + version, nil
	}
	h := sha256.New()
	err := filepath.WalkDir(source, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || !strings.HasSuffix(path, ".go") && filepath.Base(path) != "go.sum" {
			return err
		}
		raw, err := os.ReadFile(path)
		h.Write(raw)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the development server's source: %w", err)
	}
	return "devserver-" + hex.EncodeToString(h.Sum(nil)[:6]), nil
}

// buildServer compiles the embedded Temporal server and shows that it is at work.
func (a *app) buildServer(ctx context.Context, source, version, path string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("neither `temporal` nor `go` is on the PATH: install one of them, or set TEMPORAL_ADDRESS to a server")
	}
	a.note("building the embedded Temporal server, once; this takes some minutes the first time")
	a.note("(meanwhile, in another terminal: `starter demo --local` needs no server)")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := lockFile(ctx, filepath.Join(filepath.Dir(path), "build.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return nil // another process built it meanwhile
	}
	return a.goBuild(ctx, source, version, path)
}

func (a *app) goBuild(ctx context.Context, source, version, path string) error {
	var cmd *exec.Cmd
	if source != "" {
		cmd = exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", path+".part", ".")
		cmd.Dir = source
	} else {
		cmd = exec.CommandContext(ctx, "go", "install", "-ldflags", "-s -w", serverPackage+"@"+version)
		cmd.Env = append(os.Environ(), "GOBIN="+filepath.Dir(path))
	}
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	stop := a.progress("compiling")
	err := cmd.Run()
	stop()
	if err != nil {
		return fmt.Errorf("build the development server: %w: %s", err, lastLine(output.String()))
	}
	if source == "" {
		return os.Rename(filepath.Join(filepath.Dir(path), "devserver"), path)
	}
	return os.Rename(path+".part", path)
}

// progress shows every ten seconds that something goes on.
func (a *app) progress(what string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	start := time.Now()
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				a.note("  … %s, %s", what, time.Since(start).Round(time.Second))
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// lockFile holds an advisory lock until unlocked; it waits for another holder.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return func() { _ = f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
