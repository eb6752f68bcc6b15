package main

import (
	"fmt"
	"runtime/debug"

	uiversion "github.com/temporalio/ui-server/v2/server/version"
	"go.temporal.io/server/common/headers"
)

// version names this program's version and those of what it embeds.
func version() string {
	own := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		own = info.Main.Version
	}
	return fmt.Sprintf("devserver %s (temporal server %s, web ui %s)", own, headers.ServerVersion, uiversion.UIVersion)
}
