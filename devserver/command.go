package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
)

var (
	logLevels = []string{"debug", "info", "warn", "error", "fatal"}
	syncModes = []string{syncNormal, syncFull}
)

// options is the command line after validation.
type options struct {
	ip             netip.Addr
	port           uint16 // 0 = a free one
	uiPort         uint16 // 0 = a free one
	headless       bool
	database       string // absolute path; empty = in memory
	sync           string // syncNormal or syncFull
	dynamicConfig  []override
	addressFile    string // empty = none
	logLevel       string
	exitWithParent bool
	parentPID      int // 0 = whoever is the parent at start
}

// flags is the command line as typed.
type flags struct {
	options
	ip            string
	ephemeral     bool
	dynamicConfig []string
}

// A usageError is a fault of the caller; the program exits with 2.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// newCommand builds the command line; run is called with valid options.
func newCommand(run func(options) error) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "devserver (--db PATH | --ephemeral) [flags]",
		Short: "Temporal server and web UI in one process, for development",
		Long: "Temporal server and web UI in one process, for development.\n\n" +
			"Prints one JSON line on standard output when it serves; logs and errors go to standard error.",
		Version: version(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unexpected argument %q (this program takes only flags, see --help)", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			opts, err := f.validate()
			if err != nil {
				return err
			}
			return run(opts)
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%w (see --help)", err) })
	cmd.SetVersionTemplate("{{.Version}}\n")
	f.register(cmd)
	return cmd
}

func (f *flags) register(cmd *cobra.Command) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.database, "db", "", "SQLite `file` that holds all state; created when missing")
	set.BoolVar(&f.ephemeral, "ephemeral", false, "keep all state in memory and forget it at exit")
	set.StringVar(&f.sync, "sync", syncNormal, "when a commit reaches the disk: `normal` (a crash of the program loses nothing, a power cut may lose the last commits) or full (fsync per commit)")
	set.StringVar(&f.ip, "ip", "127.0.0.1", "`address` that server and UI bind to; there is no authentication, so think before leaving loopback")
	set.Uint16Var(&f.port, "port", 7233, "`port` of the server; 0 takes a free one")
	set.Uint16Var(&f.uiPort, "ui-port", 8233, "`port` of the web UI; 0 takes a free one")
	set.BoolVar(&f.headless, "headless", false, "no web UI")
	set.StringArrayVar(&f.dynamicConfig, "dynamic-config", nil, "`key=value` of Temporal's dynamic config, the value as JSON or else as a string; may be repeated")
	set.StringVar(&f.addressFile, "address-file", "", "`file` that holds the serving line for as long as it is true")
	set.StringVar(&f.logLevel, "log-level", "error", "least `level` of the logs on standard error: debug, info, warn, error or fatal")
	set.BoolVar(&f.exitWithParent, "exit-with-parent", false, "exit cleanly when the parent process ends")
	set.IntVar(&f.parentPID, "parent-pid", 0, "process `id` that the parent must have; implies --exit-with-parent and also notices a parent that ended before this program could look")
}

// validate checks the command line and fills in what follows from it. Its errors are usage errors.
func (f *flags) validate() (options, error) {
	opts := f.options
	var err error
	if opts.ip, err = netip.ParseAddr(f.ip); err != nil {
		return opts, usagef("--ip %q is not an IP address (use for example 127.0.0.1, or 0.0.0.0 for all interfaces)", f.ip)
	}
	if opts.dynamicConfig, err = parseOverrides(f.dynamicConfig); err != nil {
		return opts, err
	}
	if opts.database, err = f.databasePath(); err != nil {
		return opts, err
	}
	switch {
	case !slices.Contains(syncModes, f.sync):
		return opts, usagef("--sync %q is unknown (use one of %v)", f.sync, syncModes)
	case f.ephemeral && f.sync != syncNormal:
		return opts, usagef("--sync %s has no meaning with --ephemeral (leave one of them out)", f.sync)
	case !slices.Contains(logLevels, f.logLevel):
		return opts, usagef("--log-level %q is unknown (use one of %v)", f.logLevel, logLevels)
	case !f.headless && f.port != 0 && f.port == f.uiPort:
		return opts, usagef("--port and --ui-port are both %d (choose two ports)", f.port)
	case f.parentPID < 0:
		return opts, usagef("--parent-pid %d is not a process id", f.parentPID)
	}
	opts.exitWithParent = f.exitWithParent || f.parentPID != 0
	return opts, nil
}

// databasePath is absolute and free of symbolic links, so that one file has one name and one lock.
func (f *flags) databasePath() (string, error) {
	switch {
	case f.ephemeral && f.database != "":
		return "", usagef("--db and --ephemeral exclude each other (leave one of them out)")
	case f.ephemeral:
		return "", nil
	case f.database == "":
		return "", usagef("no place for the state (use --db PATH to keep it in a file, or --ephemeral to forget it at exit)")
	}
	path, err := filepath.Abs(f.database)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if os.IsNotExist(err) {
		return "", fmt.Errorf("folder %s of the database does not exist (create it, or choose another --db)", filepath.Dir(path))
	}
	if err != nil {
		return "", fmt.Errorf("find the folder of the database: %w", err)
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}
