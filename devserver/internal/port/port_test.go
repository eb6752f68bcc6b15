package port

import (
	"net"
	"net/netip"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

var loopback = netip.MustParseAddr("127.0.0.1")

func TestReserveFindsAFreePortAndLetsTheListenerIn(t *testing.T) {
	t.Parallel()
	r, err := Reserve(loopback, 0)
	require.NoError(t, err)
	defer r.Release()
	require.NotZero(t, r.Port())

	l, err := net.Listen("tcp", r.Listen())
	require.NoError(t, err)
	defer l.Close()
	r.Release()
	r.Release() // a second release is harmless

	conn, err := net.Dial("tcp", r.Dial())
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

func TestReserveRefusesAPortOnWhichSomebodyListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, err = Reserve(loopback, l.Addr().(*net.TCPAddr).AddrPort().Port())
	require.ErrorIs(t, err, syscall.EADDRINUSE)
}

func TestReserveRefusesAnAddressThisMachineDoesNotHave(t *testing.T) {
	t.Parallel()
	_, err := Reserve(netip.MustParseAddr("192.0.2.1"), 0) // set aside for documentation, never assigned
	require.ErrorIs(t, err, syscall.EADDRNOTAVAIL)
}

func TestReservedPortsAreNotHandedOutAgain(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only linux holds the port, see the package comment")
	}
	seen := map[int]bool{}
	for range 500 {
		r, err := Reserve(loopback, 0)
		require.NoError(t, err)
		defer r.Release()
		require.False(t, seen[r.Port()], "port %d was reserved twice", r.Port())
		seen[r.Port()] = true
	}
	for range 500 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		require.False(t, seen[l.Addr().(*net.TCPAddr).Port], "a reserved port was handed out")
	}
}

func TestDialReplacesTheAddressThatStandsForAll(t *testing.T) {
	t.Parallel()
	for listen, dial := range map[string]string{
		"127.0.0.1:7233": "127.0.0.1:7233",
		"0.0.0.0:7233":   "127.0.0.1:7233",
		"[::]:7233":      "[::1]:7233",
		"[::1]:7233":     "[::1]:7233",
	} {
		r := &Reservation{addr: netip.MustParseAddrPort(listen)}
		require.Equal(t, dial, r.Dial())
		require.Equal(t, listen, r.Listen())
	}
}
