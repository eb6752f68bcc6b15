package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/openai"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/tools"
	"github.com/everturn/everturn/worker"
)

// The test program is also a worker, for what the starter's own worker cannot show: tools of every effect class. It is
// one when this variable names the server.
const beWorker = "EVERTURN_E2E_WORKER"

// The definitions that the worker of this file knows.
const (
	helper   = "helper"
	asker    = "asker"    // asks a person about every call
	smith    = "smith"    // its tools are those of the workbench too
	inquirer = "inquirer" // has a tool that asks people, and must not be repeated
	hired    = "hired"    // its model is the vendor of EVERTURN_BASE_URL, its tools are those of the workbench
)

// deployed is the variable that makes the definitions asker and inquirer others than they were.
const deployed = "EVERTURN_E2E_DEPLOYED"

// workerName is the variable that gives a worker another name than its process has.
const workerName = "EVERTURN_E2E_IDENTITY"

func always(context.Context, plugin.ToolCall, func(context.Context) (plugin.Verdict, error)) (plugin.Verdict, error) {
	return plugin.Verdict{Kind: plugin.Ask, Reason: "sure?"}, nil
}

// helperWorker starts this program as a worker. Its tools leave a file for every start, and end when
// a file "go" is there.
func (p *place) helperWorker(script string) *process {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	return p.helperWorkerOf(self, script)
}

// helperWorkerOf starts a program that has these tests, of this tree or of another.
func (p *place) helperWorkerOf(program, script string) *process {
	p.t.Helper()
	x := p.command(exec.Command(program), append(append([]string(nil), p.env...), beWorker+"="+p.server.Address,
		"EVERTURN_E2E_QUEUE="+p.queue, "EVERTURN_SCRIPT="+p.write("script.txt", script)))
	x.says("worker polls")
	return x
}

// runWorker is the program of a helper worker.
func runWorker() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	home := os.Getenv("EVERTURN_HOME")
	script, err := os.ReadFile(os.Getenv("EVERTURN_SCRIPT"))
	if err != nil {
		return err
	}
	parsed, err := scripted.Parse(string(script))
	if err != nil {
		return err
	}
	c, err := client.DialContext(ctx, client.Options{HostPort: os.Getenv(beWorker), Identity: os.Getenv(workerName), Logger: log.Silent()})
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, filepath.Join(home, "store"), store.Options{})
	if err != nil {
		return err
	}
	vendor, err := openai.New(openai.Config{BaseURL: os.Getenv("EVERTURN_BASE_URL")})
	if err != nil {
		return err
	}
	news := []plugin.Section{{Name: "news", Text: os.Getenv(deployed)}}
	bench := workbench{home: home, traps: &traps{home: home}, takes: 300 * time.Millisecond}
	w, err := worker.New(ctx, worker.Config{
		Client: c, TaskQueue: os.Getenv("EVERTURN_E2E_QUEUE"), Store: s, Drain: patience,
		Webhooks: worker.Webhooks{Allow: []string{"127.0.0.1"}},
		Profile:  cmp.Or(worker.Profile(os.Getenv("EVERTURN_E2E_PROFILE")), worker.Embedded),
		Providers: []llm.Provider{vendor, scripted.New(scripted.Config{Models: map[string]scripted.Model{
			"script": {Script: parsed, Position: scripted.ByHistory}}})},
		Definitions: []*plugin.Definition{
			{Name: helper, Provider: scripted.Name, Model: "script", Tools: slowTools(home)},
			{Name: asker, Provider: scripted.Name, Model: "script", Sections: news, Tools: slowTools(home), Approval: &plugin.Approval{},
				ToolPreExecute: []plugin.ToolPreGate{always}},
			{Name: smith, Provider: scripted.Name, Model: "script", Tools: bench.tools()},
			{Name: inquirer, Provider: scripted.Name, Model: "script", Sections: news, Tools: append(slowTools(home), asksOnce(home))},
			{Name: hired, Provider: vendor.Name(), Model: "m", Tools: bench.tools()},
		},
	})
	if err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return err
	}
	others := errandWorker(c, os.Getenv("EVERTURN_E2E_QUEUE"))
	if err := others.Start(); err != nil {
		return err
	}
	defer others.Stop()
	fmt.Println("worker polls")
	<-ctx.Done()
	w.Stop()
	return nil
}

// asksOnce is a tool that leaves a file for every start and asks people. It must not be repeated.
func asksOnce(home string) *tools.Tool {
	return tools.Must(tools.New("asks", "Asks once.", func(ctx context.Context, _ struct{}) (tools.Result, error) {
		call, _ := tools.CallFrom(ctx)
		f, err := os.OpenFile(filepath.Join(home, "asked"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return tools.Result{}, err
		}
		defer func() { _ = f.Close() }()
		_, err = fmt.Fprintln(f, call.ID)
		return tools.Result{Ask: &tools.Questions{Questions: []tools.Question{
			{ID: "target", Text: "Where to?", Options: []tools.Choice{{Label: "test"}, {Label: "prod"}}, Must: true}, {ID: "why", Text: "Why?"}}}}, err
	}))
}

// slowTools are one tool per effect class that can be killed in the middle.
func slowTools(home string) []*tools.Tool {
	body := func(ctx context.Context, _ struct{}) (string, error) {
		call, _ := tools.CallFrom(ctx)
		mark := filepath.Join(home, fmt.Sprintf("started-%s-%d", call.ID, call.Try))
		if err := os.WriteFile(mark, nil, 0o600); err != nil {
			return "", err
		}
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-tick.C:
				if _, err := os.Stat(filepath.Join(home, "go")); !errors.Is(err, os.ErrNotExist) {
					return fmt.Sprintf("done in try %d", call.Try), err
				}
			}
		}
	}
	return []*tools.Tool{
		tools.Must(tools.New("once", "Acts once.", body)),
		tools.Must(tools.New("keyed", "Acts under a key.", body, tools.WithEffect(tools.Keyed))),
	}
}
