//go:build !linux

package port

import (
	"net"
	"net/netip"
)

// bind looks for a free port by listening for a moment; nothing is held afterwards.
func bind(addr netip.AddrPort) (netip.AddrPort, func(), error) {
	l, err := net.Listen("tcp", addr.String())
	if err != nil {
		return addr, nil, err
	}
	defer l.Close()
	bound := l.Addr().(*net.TCPAddr).AddrPort().Port()
	return netip.AddrPortFrom(addr.Addr(), bound), func() {}, nil
}
