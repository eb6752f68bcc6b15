package main

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATakenPortIsNamed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	taken := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	for _, flag := range []string{"--port", "--ui-port"} {
		database, addressFile := databaseIn(t), filepath.Join(t.TempDir(), "address.json")
		p := launch(t, "--db", database, "--address-file", addressFile, flag, taken)
		line := p.fail(exitFailed)
		require.Contains(t, line, "127.0.0.1:"+taken+" is taken")
		require.Contains(t, line, "choose another "+flag)
		require.NoFileExists(t, addressFile)
		require.NoFileExists(t, database)
	}
}

func TestAnAddressOfAnotherMachineIsRefused(t *testing.T) {
	t.Parallel()
	line := launch(t, "--ephemeral", "--ip", "192.0.2.1").fail(exitFailed)
	require.Contains(t, line, "choose another --ip")
}

func TestADatabaseServesOneServerAtATime(t *testing.T) {
	t.Parallel()
	database, addressFile := databaseIn(t), filepath.Join(t.TempDir(), "address.json")
	first := launch(t, "--db", database, "--address-file", addressFile)
	pid := first.serving().PID

	other := filepath.Join(t.TempDir(), "link.db")
	require.NoError(t, os.Symlink(database, other))
	for _, path := range []string{database, other} {
		line := launch(t, "--db", path, "--address-file", addressFile).fail(exitFailed)
		require.Contains(t, line, fmt.Sprintf("database %s is in use by another devserver, process %d", database, pid))
		require.FileExists(t, addressFile) // it is the first one's
	}

	first.signal(syscall.SIGTERM)
	first.exit(exitOK)
	launch(t, "--db", database).serving()
}

func TestAServerWaitsForItsPredecessorToEnd(t *testing.T) {
	t.Parallel()
	database := databaseIn(t)
	first := launch(t, "--db", database, "--headless")
	first.serving()
	first.signal(syscall.SIGSTOP) // it holds the lock, and will for as long as we like
	second := launch(t, "--db", database, "--headless")
	go func() { // a server that is told to end does so a moment later
		first.signal(syscall.SIGCONT)
		first.signal(syscall.SIGTERM)
	}()
	require.Equal(t, second.cmd.Process.Pid, second.serving().PID)
	first.exit(exitOK)
}

func TestADatabaseThatCannotServeIsRefused(t *testing.T) {
	t.Parallel()
	sound := databaseIn(t)
	require.NoError(t, createDatabase(t.Context(), sound))
	bytes, err := os.ReadFile(sound)
	require.NoError(t, err)

	for name, c := range map[string]struct {
		make func(t *testing.T, path string) error
		want string
	}{
		"not a database": {
			func(_ *testing.T, path string) error {
				return os.WriteFile(path, []byte("dear diary, nothing happened\n"), 0o600)
			},
			"is damaged",
		},
		"a page overwritten": {
			func(_ *testing.T, path string) error {
				broken := append([]byte{}, bytes...)
				for i := len(broken) / 2; i < len(broken)/2+8192; i++ {
					broken[i] = 0xff
				}
				return os.WriteFile(path, broken, 0o600)
			},
			"is damaged",
		},
		"cut short": {
			func(_ *testing.T, path string) error { return os.WriteFile(path, bytes[:len(bytes)/2], 0o600) },
			"is damaged",
		},
		"another program's": {
			func(t *testing.T, path string) error { return execute1(t, path, "CREATE TABLE recipes (name TEXT)") },
			"belongs to another program",
		},
		"of another version": {
			func(t *testing.T, path string) error {
				return execute1(t, path, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 999", applicationID))
			},
			"has schema version 999",
		},
		"gone, but not its log": {
			func(_ *testing.T, path string) error { return os.WriteFile(path+"-wal", []byte("frames"), 0o600) },
			"put the database back",
		},
		"a folder":       {func(_ *testing.T, path string) error { return os.Mkdir(path, 0o700) }, "is not a file"},
		"in no folder":   {func(_ *testing.T, path string) error { return os.Remove(filepath.Dir(path)) }, "does not exist"},
		"lock forbidden": {func(_ *testing.T, path string) error { return os.Mkdir(path+".lock", 0o700) }, "lock database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, addressFile := databaseIn(t), filepath.Join(t.TempDir(), "address.json")
			require.NoError(t, c.make(t, path))
			line := launch(t, "--db", path, "--address-file", addressFile).fail(exitFailed)
			require.Contains(t, line, c.want)
			require.Contains(t, line, filepath.Dir(path))
			require.NoFileExists(t, addressFile)
		})
	}
}

func execute1(t *testing.T, path, statement string) error {
	db, err := sql.Open(driverName, path)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), statement)
	return err
}

func TestAnAddressFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	line := launch(t, "--ephemeral", "--headless", "--address-file", filepath.Join(t.TempDir(), "no", "a.json")).fail(exitFailed)
	require.Contains(t, line, "write the address file")
	line = launch(t, "--ephemeral", "--headless", "--address-file", t.TempDir()).fail(exitFailed)
	require.Contains(t, line, "is a folder")
}

func TestALostRaceForAnInternalPort(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	thief := func(times string) *process {
		cmd := exec.Command(self, "--exit-with-parent", "--port=0", "--ui-port=0", "--db", databaseIn(t))
		cmd.Env = append(os.Environ(), stealVar+"="+times)
		return launchCommand(t, cmd)
	}

	t.Run("once is repaired by a second attempt", func(t *testing.T) {
		p := thief("once")
		s := p.serving()
		require.Equal(t, p.cmd.Process.Pid, s.PID)
		requirePage(t, s.UIAddress)
		p.signal(syscall.SIGTERM)
		p.exit(exitOK)
	})
	t.Run("every time is an error", func(t *testing.T) {
		require.Contains(t, thief("always").fail(exitFailed), "no internal port stayed free in 5 attempts")
	})
}
