package main

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/everturn/everturn/devserver/internal/port"
)

// ports are the addresses of one server, reserved until it listens.
type ports struct {
	frontend *port.Reservation
	ui       *port.Reservation // nil when headless
	internal map[string]*port.Reservation
}

// internalServices are the parts of the server that talk to each other; nobody else does, so they stay on loopback.
var internalServices = []string{"history", "matching", "worker"}

// reservePorts reserves what the options ask for, and free ports for the rest.
func reservePorts(opts options) (_ ports, err error) {
	p := ports{internal: map[string]*port.Reservation{}}
	defer func() {
		if err != nil {
			p.release()
		}
	}()
	if p.frontend, err = reserve(opts.ip, opts.port, "--port"); err != nil {
		return p, err
	}
	if !opts.headless {
		if p.ui, err = reserve(opts.ip, opts.uiPort, "--ui-port"); err != nil {
			return p, err
		}
	}
	for _, service := range internalServices {
		if p.internal[service], err = port.Reserve(netip.MustParseAddr("127.0.0.1"), 0); err != nil {
			return p, fmt.Errorf("find a free port for the %s service: %w", service, err)
		}
	}
	return p, nil
}

func (p ports) release() {
	for _, r := range p.internal {
		if r != nil {
			r.Release()
		}
	}
	if p.frontend != nil {
		p.frontend.Release()
	}
	if p.ui != nil {
		p.ui.Release()
	}
}

// lostRace reports whether the server failed because somebody took one of its internal ports first.
func (p ports) lostRace(err error) bool {
	var fatal *fatalError
	if !errors.As(err, &fatal) || !errors.Is(err, syscall.EADDRINUSE) {
		return false
	}
	for _, r := range p.internal {
		if r.Listen() == fatal.address {
			return true
		}
	}
	return false
}

// explain turns the server's words about the frontend's port into ours.
func (p ports) explain(err error) error {
	var fatal *fatalError
	if errors.As(err, &fatal) && fatal.address == p.frontend.Listen() && errors.Is(err, syscall.EADDRINUSE) {
		return portError(p.frontend.Listen(), "--port", err)
	}
	return err
}

func reserve(ip netip.Addr, number uint16, flag string) (*port.Reservation, error) {
	r, err := port.Reserve(ip, number)
	if err != nil {
		return nil, portError(netip.AddrPortFrom(ip, number).String(), flag, err)
	}
	return r, nil
}

func portError(address, flag string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is taken by another program (end it, or choose another %s; 0 takes a free one)", address, flag)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("this machine has no address to listen on as %s (choose another --ip)", address)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s may not be used by this user (choose a %s above 1023)", address, flag)
	}
	return fmt.Errorf("listen on %s: %w", address, err)
}
