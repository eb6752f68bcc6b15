package main

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

// startUI starts the web UI on its reserved port and returns what stops it. It may not answer yet.
func startUI(p ports) (stop func()) {
	cfg := &uiconfig.Config{
		TemporalGRPCAddress: p.frontend.Dial(),
		Host:                urlHost(p.ui.IP()),
		Port:                p.ui.Port(),
		EnableUI:            true,
		DefaultNamespace:    namespace,
		CORS:                uiconfig.CORS{CookieInsecure: true}, // there is no TLS in front of it
		DisableNewsFetch:    true,
		HideLogs:            true, // they would be access logs
	}
	server := uiserver.NewServer(uioptions.WithConfigProvider(cfg))
	go func() { _ = server.Start() }()
	return server.Stop
}

// uiURL is where a browser on this machine finds the web UI.
func uiURL(p ports) string { return "http://" + p.ui.Dial() }

// urlHost puts an IPv6 address into the brackets that host:port needs.
func urlHost(ip string) string {
	if netip.MustParseAddr(ip).Is6() {
		return "[" + ip + "]"
	}
	return ip
}

// checkUI asks for the page that a browser would show.
func checkUI(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s", url, resp.Status)
	}
	return nil
}
