package webhook

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
)

// A guard knows which addresses may be called beside public ones.
type guard struct {
	nets  []netip.Prefix
	hosts []string // lower case
}

// newGuard reads networks, addresses and host names.
func newGuard(allow []string) (g guard, err error) {
	for _, entry := range allow {
		entry = strings.ToLower(strings.TrimSpace(entry))
		addr, noAddr := netip.ParseAddr(entry)
		prefix, noPrefix := netip.ParsePrefix(entry)
		switch {
		case noAddr == nil:
			g.nets = append(g.nets, netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()))
		case noPrefix == nil:
			g.nets = append(g.nets, prefix.Masked())
		case validHost(entry):
			g.hosts = append(g.hosts, entry)
		default:
			return g, fmt.Errorf("webhook allow-list: %.80q is no network, address or host name (as in 10.0.0.0/8, ::1, hooks.internal)", entry)
		}
	}
	return g, nil
}

func validHost(name string) bool {
	return name != "" && len(name) <= 253 && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// special are addresses that look public and are not: shared, documentation, benchmarks, and what stands for an IPv4
// address that would have to be looked at itself.
var special = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32", "2002::/16", "fec0::/10", "::/96")

func prefixes(list ...string) (out []netip.Prefix) {
	for _, p := range list {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// public reports whether an address is one of the public internet's.
func public(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && a.Zone() == "" && !within(special, a)
}

func within(nets []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(nets, func(p netip.Prefix) bool { return p.Contains(a) })
}

// named reports whether a host may be called whatever its address.
func (g guard) named(host string) bool { return slices.Contains(g.hosts, strings.ToLower(host)) }

// may says why an address must not be called; nil if it may be.
func (g guard) may(u *url.URL, a netip.Addr) error {
	a = a.Unmap()
	allowed := g.named(u.Hostname()) || within(g.nets, a.WithZone(""))
	switch {
	case allowed:
		return nil
	case !public(a):
		return refused(u, fmt.Sprintf("its address %s is not public: allow it at the worker with --webhook-allow %s", a, a))
	case u.Scheme != "https":
		return refused(u, "it is not https: use https, or allow the host at the worker with --webhook-allow")
	}
	return nil
}

// control refuses a connection as it is made: the name was looked up already, and cannot mean something else any more.
func (g guard) control(u *url.URL) func(network, address string, c syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return refused(u, "its address cannot be read")
		}
		return g.may(u, to.Addr())
	}
}

// Parse reads the URL of a webhook.
func Parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil: // its text would say the URL
		return nil, errors.New("it is no URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("use a URL with https")
	case u.Hostname() == "":
		return nil, errors.New("the URL has no host")
	case u.User != nil:
		return nil, errors.New("the URL has a user name or password: a signature with the secret says who calls")
	case u.Fragment != "":
		return nil, errors.New("the URL has a fragment, which nobody would see")
	}
	return u, nil
}

// Check says what is wrong with a URL as far as that can be seen without asking anybody.
func (s *Sender) Check(text string) error {
	u, err := Parse(text)
	if err != nil {
		return err
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		return s.guard.may(u, a)
	}
	local := strings.EqualFold(u.Hostname(), "localhost") || strings.HasSuffix(strings.ToLower(u.Hostname()), ".localhost")
	if s.guard.named(u.Hostname()) || len(s.guard.nets) > 0 {
		return nil
	}
	if local {
		return s.guard.may(u, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	if u.Scheme != "https" {
		return refused(u, "it is not https: use https, or allow the host at the worker with --webhook-allow")
	}
	return nil
}

// refusedAddress finds a refusal of control in what a dialer made of it.
func refusedAddress(err error) *Error {
	var e *Error
	var op *net.OpError
	if errors.As(err, &e) || errors.As(err, &op) && errors.As(op.Err, &e) {
		return e
	}
	return nil
}
