package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/plugin"
	"github.com/stretchr/testify/require"
)

func TestARepetitionIsForgottenAndNothingElse(t *testing.T) {
	event := func(seq, ms int) plugin.Notice {
		return plugin.Notice{Name: stream.NoticeEvent, Data: fmt.Appendf(nil, `{"seq":%d,"time":%d,"type":"turn/end","data":{}}`, seq, ms)}
	}
	status := func(s string) plugin.Notice {
		return plugin.Notice{Name: stream.NoticeStatus, Data: json.RawMessage(`{"status":"` + s + `"}`)}
	}
	gone := plugin.Notice{Name: stream.NoticeDisposed}
	tests := map[string]struct {
		retells bool
		told    []plugin.Notice
		want    string
	}{
		"a task that was executed again": {true, []plugin.Notice{event(7, 1), status("idle"), gone, event(7, 2), status("idle"), gone}, "event idle gone"},
		"part of it":                     {true, []plugin.Notice{event(7, 1), status("idle"), gone, status("idle"), gone}, "event idle gone"},
		"another event":                  {true, []plugin.Notice{event(7, 1), status("idle"), event(8, 1), status("idle")}, "event idle event idle"},
		"statuses alone":                 {true, []plugin.Notice{status("running"), status("idle"), status("running"), status("idle")}, "running idle running idle"},
		"a place where nothing repeats":  {false, []plugin.Notice{gone, gone}, "gone gone"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := notices{retells: test.retells}
			for _, told := range test.told {
				words := map[string]string{stream.NoticeEvent: "event", stream.NoticeDisposed: "gone"}[told.Name]
				if words == "" {
					words = strings.Trim(strings.Split(string(told.Data), ":")[1], `"}`)
				}
				n.add(words, told)
			}
			require.Equal(t, test.want, n.fresh())
		})
	}
}
