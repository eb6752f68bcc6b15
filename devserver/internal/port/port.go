// Package port reserves TCP ports for servers that will listen on them a moment later.
//
// A [Reservation] keeps the port from being handed out to anybody else who asks for a free one, and does not stand in
// the way of a listener that asks for exactly this port. Release it once the listener is up.
//
// On Linux the reservation is a bound socket that does not listen. Elsewhere it is only a number that was free when it
// was looked up, so a caller must still expect that listening fails.
package port

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// A Reservation is one port of one address. Its zero value is of no use: call [Reserve].
type Reservation struct {
	addr    netip.AddrPort
	release func()
}

// Reserve reserves port of ip, or a free port if port is 0.
//
// If somebody listens there the error wraps [syscall.EADDRINUSE]; if the machine has no such address, [syscall.EADDRNOTAVAIL].
func Reserve(ip netip.Addr, port uint16) (*Reservation, error) {
	addr, release, err := bind(netip.AddrPortFrom(ip, port))
	if err != nil {
		return nil, fmt.Errorf("reserve %s: %w", netip.AddrPortFrom(ip, port), err)
	}
	return &Reservation{addr: addr, release: release}, nil
}

// Port is the number of the reserved port.
func (r *Reservation) Port() int { return int(r.addr.Port()) }

// IP is the reserved address, without the port.
func (r *Reservation) IP() string { return r.addr.Addr().String() }

// Listen is the address to listen on, as host:port.
func (r *Reservation) Listen() string { return r.addr.String() }

// Dial is the address at which this machine reaches the listener, as host:port.
// It differs from [Reservation.Listen] when the reserved address stands for all addresses.
func (r *Reservation) Dial() string {
	host := r.addr.Addr()
	if host.IsUnspecified() {
		host = loopbackLike(host)
	}
	return net.JoinHostPort(host.String(), strconv.Itoa(r.Port()))
}

// Release gives the reservation up. It may be called more than once.
func (r *Reservation) Release() {
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

func loopbackLike(ip netip.Addr) netip.Addr {
	if ip.Is4() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv6Loopback()
}
