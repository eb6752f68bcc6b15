package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/signals"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
)

// DialOptions say where Temporal and the store are. The zero value is what the environment says, and without one the
// development server that `starter dev` runs for this user.
type DialOptions struct {
	// Address of the Temporal server. Empty: TEMPORAL_ADDRESS or a profile of the Temporal configuration file, then a
	// running `starter dev`. TLS and API keys come from the same environment.
	Address   string
	Namespace string // empty: TEMPORAL_NAMESPACE or the profile's, then "default"
	TaskQueue string // of the agents that are created; signals.DefaultTaskQueue if empty

	// Store is where the sessions' bytes are: a folder, or a URL such as file:///var/lib/everturn. It must be the one
	// the workers use. Empty: EVERTURN_STORE, then the one of `starter dev`.
	Store string

	Poll   time.Duration // longest pause between two looks while waiting; 0 means 250 ms
	Logger log.Logger    // of the Temporal SDK; nil prints errors to stderr
}

// A Connection is a [Client] together with what it was made of, which a worker in the same process can share.
type Connection struct {
	*Client
	Temporal  client.Client
	Namespace string
	TaskQueue string
}

// Close releases the connection to Temporal and the store. Agents go on.
func (c *Connection) Close() {
	c.Temporal.Close()
	_ = c.Store.Close() // what was written is durable already
}

// answersIn bounds how long a server may take to answer at all.
const answersIn = 5 * time.Second

// Dial connects to Temporal and opens the store. It fails when no server is named and no `starter dev` runs, when the
// server does not answer within five seconds, and when the store cannot be opened; the error says what to do. Close the
// connection in the end.
func Dial(ctx context.Context, o DialOptions) (*Connection, error) {
	options, err := o.client()
	if err != nil {
		return nil, err
	}
	location, err := o.location()
	if err != nil {
		return nil, err
	}
	short, cancel := context.WithTimeout(ctx, answersIn)
	defer cancel()
	t, err := client.DialContext(short, options)
	if err != nil {
		return nil, fmt.Errorf("temporal at %s does not answer: %w (start one with `starter dev`, or set TEMPORAL_ADDRESS)", options.HostPort, err)
	}
	bytes, err := store.Open(ctx, location, store.Options{})
	if err != nil {
		t.Close()
		return nil, err
	}
	c := &Connection{Temporal: t, Namespace: options.Namespace, TaskQueue: o.TaskQueue}
	backend := Temporal(t, TemporalOptions{TaskQueue: o.TaskQueue, Namespace: options.Namespace})
	if c.Client, err = New(Config{Backend: backend, Store: bytes, Poll: o.Poll}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// client completes what the environment says about the server.
func (o *DialOptions) client() (client.Options, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return options, fmt.Errorf("read the Temporal profile: %w (mend the file, or unset TEMPORAL_CONFIG_FILE)", err)
	}
	if o.TaskQueue == "" {
		o.TaskQueue = signals.DefaultTaskQueue
	}
	if o.Address != "" {
		options.HostPort = o.Address
	}
	if o.Namespace != "" {
		options.Namespace = o.Namespace
	}
	if options.Namespace == "" {
		options.Namespace = client.DefaultNamespace
	}
	if options.Logger = o.Logger; options.Logger == nil {
		options.Logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	}
	if options.HostPort == "" {
		options.HostPort, err = devAddress()
	}
	return options, err
}

// devAddress is where the `starter dev` of this user serves.
func devAddress() (string, error) {
	none := errors.New("no Temporal server is named: set TEMPORAL_ADDRESS, or start one with `starter dev`")
	home, err := devHome()
	if err != nil {
		return "", none
	}
	raw, err := os.ReadFile(filepath.Join(home, "dev.json"))
	if errors.Is(err, os.ErrNotExist) {
		return "", none
	}
	var dev struct {
		Address string `json:"address"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &dev)
	}
	if err == nil && dev.Address == "" {
		err = errors.New("it names no address")
	}
	if err != nil {
		return "", fmt.Errorf("address file %s: %w (remove it, or set TEMPORAL_ADDRESS)", filepath.Join(home, "dev.json"), err)
	}
	return dev.Address, nil
}

// location is where the store is.
func (o *DialOptions) location() (string, error) {
	if o.Store != "" {
		return o.Store, nil
	}
	if location := os.Getenv("EVERTURN_STORE"); location != "" {
		return location, nil
	}
	home, err := devHome()
	if err != nil {
		return "", fmt.Errorf("no store is named: %w (set EVERTURN_STORE)", err)
	}
	return filepath.Join(home, "store"), nil
}

// devHome is the folder of `starter dev`.
func devHome() (string, error) {
	if dir := os.Getenv("EVERTURN_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	user, err := os.UserHomeDir()
	return filepath.Join(user, ".everturn"), err
}
