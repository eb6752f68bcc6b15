package port

import (
	"net/netip"
	"os"
	"syscall"
)

// bind binds a socket that never listens. With SO_REUSEADDR on both sides a later listener of the same port is let in,
// while the kernel no longer offers the port to those who ask for any.
func bind(addr netip.AddrPort) (netip.AddrPort, func(), error) {
	family, sockaddr := sockaddrOf(addr)
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return addr, nil, os.NewSyscallError("socket", err)
	}
	bound, err := bindFD(fd, sockaddr)
	if err != nil {
		_ = syscall.Close(fd)
		return addr, nil, err
	}
	return netip.AddrPortFrom(addr.Addr(), bound), func() { _ = syscall.Close(fd) }, nil
}

func bindFD(fd int, sockaddr syscall.Sockaddr) (uint16, error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, sockaddr); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	switch bound := bound.(type) {
	case *syscall.SockaddrInet4:
		return uint16(bound.Port), nil
	case *syscall.SockaddrInet6:
		return uint16(bound.Port), nil
	}
	return 0, syscall.EAFNOSUPPORT
}

func sockaddrOf(addr netip.AddrPort) (family int, _ syscall.Sockaddr) {
	if addr.Addr().Is4() {
		return syscall.AF_INET, &syscall.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}
	}
	return syscall.AF_INET6, &syscall.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()}
}
