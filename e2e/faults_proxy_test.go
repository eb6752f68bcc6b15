package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A proxy is the network between workers and their server.
type proxy struct {
	address string
	server  string

	mu    sync.Mutex
	mood  mood
	conns map[net.Conn]bool
}

// A mood is what a proxy does with connections.
type mood int

const (
	carries  mood = iota
	cuts          // breaks every connection, and refuses new ones
	swallows      // keeps connections, and carries nothing
)

// newProxy makes the network to a server, until the test ends.
func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{address: l.Addr().String(), server: server, conns: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = l.Close()
		p.be(cuts)
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.carry(c)
		}
	}()
	return p
}

// be changes the mood. What was swallowed is lost with its connection.
func (p *proxy) be(m mood) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mood = m; m == swallows {
		return
	}
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *proxy) now() mood {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mood
}

// carry connects one caller with the server.
func (p *proxy) carry(caller net.Conn) {
	if p.now() != carries {
		_ = caller.Close()
		return
	}
	server, err := net.DialTimeout("tcp", p.server, 5*time.Second)
	if err != nil {
		_ = caller.Close()
		return
	}
	p.mu.Lock()
	p.conns[caller], p.conns[server] = true, true
	p.mu.Unlock()
	go p.copy(server, caller)
	p.copy(caller, server)
}

// copy carries bytes until one side ends, or for as long as the proxy does.
func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if p.now() == swallows {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
