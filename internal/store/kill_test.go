package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/session"
)

// childEnv makes the test program play a part in another process: "append" or "start", and the folder.
const childEnv = "EVERTURN_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	part, dir, ok := strings.Cut(os.Getenv(childEnv), ":")
	if !ok {
		os.Exit(m.Run())
	}
	s, err := store.Open(context.Background(), dir, store.Options{})
	if err == nil && part == "append" {
		err = appendForEver(s)
	}
	if err == nil && part == "start" {
		err = startAll(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// appendForEver goes on from the published head, one turn at a time, and prints every head it has published.
func appendForEver(s *store.Store) error {
	ctx := context.Background()
	_, head, err := s.LatestHead(ctx, "s")
	if err != nil && head.Count != 0 {
		return err
	}
	records := storetest.Conversation(500, 20)
	for from := head.Count; from < int64(len(records)); from = head.Count {
		to := min(from+25, int64(len(records)))
		if head, err = s.Append(ctx, "s", 0, head, records[from:to]); err != nil {
			return err
		}
		if err := s.PublishHead(ctx, "s", 0, head); err != nil {
			return err
		}
		fmt.Println(head.Hash, head.Count)
	}
	return nil
}

const sharedEffects = 100

// startAll tries to be the first to start every effect and prints how often it was.
func startAll(s *store.Store) error {
	won := 0
	for i := range sharedEffects {
		first, err := s.Started(context.Background(), fmt.Sprintf("effect/%d", i))
		if err != nil {
			return err
		}
		if first {
			won++
		}
	}
	fmt.Println(won)
	return nil
}

func child(t *testing.T, part, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+part+":"+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestKilledWriterLeavesCompleteHeads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := storetest.Conversation(500, 20)
	var reached int64
	for round := range 6 {
		published := killAfter(t, dir, 3+round)
		s := open(t, dir, store.Options{})
		for _, head := range published {
			requireComplete(t, s, head, all)
		}
		_, latest, err := s.LatestHead(t.Context(), "s")
		require.NoError(t, err)
		requireComplete(t, s, latest, all)
		require.GreaterOrEqual(t, latest.Count, published[len(published)-1].Count)
		require.Greater(t, latest.Count, reached)
		reached = latest.Count
	}
}

// killAfter runs a writer, kills it after it has told of n heads, and returns all that it told of.
func killAfter(t *testing.T, dir string, n int) []store.Head {
	t.Helper()
	cmd := child(t, "append", dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var published []store.Head
	for lines := bufio.NewScanner(out); lines.Scan(); {
		hash, count, ok := strings.Cut(lines.Text(), " ")
		c, err := strconv.ParseInt(count, 10, 64)
		if !ok || err != nil {
			break // cut off by the kill
		}
		published = append(published, store.Head{Hash: hash, Count: c})
		if len(published) == n {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.Error(t, cmd.Wait(), "the writer was killed")
	require.GreaterOrEqual(t, len(published), n)
	return published
}

func requireComplete(t *testing.T, s *store.Store, head store.Head, all []session.Record) {
	t.Helper()
	var n int64
	for r, err := range s.Records(t.Context(), "s", head, 0) {
		require.NoError(t, err)
		got, err := r.MarshalJSON()
		require.NoError(t, err)
		want, err := all[n].MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		n++
	}
	require.Equal(t, head.Count, n)
}

func TestProcessesShareAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var children []*exec.Cmd
	var outs []*strings.Builder
	for range 4 {
		cmd, out := child(t, "start", dir), new(strings.Builder)
		cmd.Stdout = out
		require.NoError(t, cmd.Start())
		children, outs = append(children, cmd), append(outs, out)
	}
	total := 0
	for i, cmd := range children {
		require.NoError(t, cmd.Wait())
		won, err := strconv.Atoi(strings.TrimSpace(outs[i].String()))
		require.NoError(t, err)
		total += won
	}
	require.Equal(t, sharedEffects, total)
}
