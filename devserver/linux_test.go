package main

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestItListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	s := launch(t, "--ephemeral").serving()
	listeners := listenersOf(t, s.PID)
	require.Len(t, listeners, 5, "frontend, ui, history, matching and worker")
	for _, address := range listeners {
		require.True(t, strings.HasPrefix(address, "127.0.0.1:"), address)
	}
}

func TestOnlyServerAndUILeaveLoopbackWhenAsked(t *testing.T) {
	t.Parallel()
	s := launch(t, "--ephemeral", "--ip", "0.0.0.0").serving()
	require.True(t, strings.HasPrefix(s.Address, "127.0.0.1:"), "an address that can be dialled: %s", s.Address)
	var open []string
	for _, address := range listenersOf(t, s.PID) {
		if port, ok := strings.CutPrefix(address, "[::]:"); ok { // all of IPv6, and of IPv4 with it
			open = append(open, "127.0.0.1:"+port)
		}
	}
	require.ElementsMatch(t, []string{s.Address, strings.TrimPrefix(s.UIAddress, "http://")}, open)
}

func TestItServesOnIPv6Loopback(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/net/if_inet6"); err != nil {
		t.Skip("this machine has no IPv6")
	}
	s := launch(t, "--ephemeral", "--ip", "::1").serving()
	require.True(t, strings.HasPrefix(s.Address, "[::1]:"), s.Address)
	requirePage(t, s.UIAddress)
	startWorkflow(t, dial(t, s), "w", "input")
}

func TestItEndsWithItsParent(t *testing.T) {
	t.Parallel()
	for name, flag := range map[string]string{"watched": "--exit-with-parent", "named": "--parent-pid=$$"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addressFile := filepath.Join(t.TempDir(), "address.json")
			script := fmt.Sprintf(`"$0" --ephemeral --port=0 --headless --address-file "$1" %s & wait`, flag)
			parent := launchCommand(t, exec.Command("sh", "-c", script, program, addressFile))
			require.NotEqual(t, parent.cmd.Process.Pid, parent.serving().PID)
			require.FileExists(t, addressFile)
			require.NoError(t, parent.cmd.Process.Kill())
			require.Empty(t, parent.end()) // returns when the orphan, too, has ended and so closed standard output
			require.NoFileExists(t, addressFile)
			require.Empty(t, parent.stderr.String())
		})
	}
}

func TestItDoesNotEvenServeForAParentThatIsGone(t *testing.T) {
	t.Parallel()
	launch(t, "--ephemeral", "--parent-pid", "999999999").exit(exitOK)
}

// hasEnded reports whether there is no such process, or only its exit status.
func hasEnded(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

// listenersOf returns the host:port of all sockets on which the process listens.
func listenersOf(t *testing.T, pid int) []string {
	t.Helper()
	sockets := socketsOf(t, pid)
	var addresses []string
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile("/proc/net/" + table)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			const listening, state, inode = "0A", 3, 9
			fields := strings.Fields(line)
			if fields[state] == listening && slices.Contains(sockets, fields[inode]) {
				addresses = append(addresses, decodeAddress(t, fields[1]))
			}
		}
	}
	return addresses
}

func socketsOf(t *testing.T, pid int) (inodes []string) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	for _, file := range files {
		target, _ := os.Readlink(file)
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			inodes = append(inodes, strings.TrimSuffix(inode, "]"))
		}
	}
	return inodes
}

// decodeAddress reads the kernel's notation: the bytes of the address in hex, turned around by fours, then the port.
func decodeAddress(t *testing.T, text string) string {
	t.Helper()
	host, port, _ := strings.Cut(text, ":")
	ip, err := hex.DecodeString(host)
	require.NoError(t, err)
	for word := range slices.Chunk(ip, 4) {
		slices.Reverse(word)
	}
	number, err := strconv.ParseUint(port, 16, 16)
	require.NoError(t, err)
	return net.JoinHostPort(net.IP(ip).String(), strconv.FormatUint(number, 10))
}
