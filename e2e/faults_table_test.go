package e2e

import "time"

// A strike is one row of the fault matrix: where it strikes, what is done, and what it may cost. Everything else that must
// hold is [scene.check].
type strike struct {
	what  string
	where string
	may   toll
	often bool // also in an ordinary test run

	trap       trap   // where, as far as a worker finds it
	definition string // acting if empty
	own        bool   // the server is killed, stopped or set back: it must not be the one that others use
	play       func(s *scene, r strike)
}

// name tells the row from every other.
func (r strike) name() string { return r.what + ", " + r.where }

// What is done. A pause is long enough for every timeout of the embedded profile, the longest of which is 10 s, and stands
// for the minute of a real outage.
const (
	workerDies    = "kill -9 of the worker"
	workerStands  = "SIGSTOP of the worker past its timeouts, then SIGCONT"
	serverKilled  = "kill -9 of the server"
	bothKilled    = "kill -9 of server and worker"
	serverStands  = "SIGSTOP of the server for a while"
	networkCut    = "server unreachable for a while"
	networkSilent = "network swallows everything for a while"
	storeAway     = "store unavailable for a while"
	storeFull     = "disk full for a while"
	storeSlow     = "store slow"
	torn          = "torn object, and kill -9 of the worker"

	pause = 12 * time.Second
)

var unknown = toll{Unknown: true}

// strikes is the fault matrix.
func strikes() (all []strike) {
	all = append(all, deaths()...)
	all = append(all, zombies()...)
	all = append(all, outages()...)
	return append(all, byHand()...)
}

// deaths are kills of a worker, at every point.
func deaths() []strike {
	rows := []strike{
		{where: "before the events of a request are written", trap: trap{Point: "create segments before"}, often: true},
		{where: "after the events of a request were written", trap: trap{Point: "create segments after"}},
		{where: "before an answer is written", trap: trap{Point: "create segments before", Skip: 1}},
		{where: "after an answer was written", trap: trap{Point: "create segments after", Skip: 1}, often: true},
		{where: "before a part of the journal", trap: trap{Point: "create journal before", Skip: 1}},
		{where: "after a part of the journal", trap: trap{Point: "create journal after", Skip: 1}},
		{where: "before a head is named", trap: trap{Point: "create heads before"}},
		{where: "after a head was named", trap: trap{Point: "create heads after"}},
		{where: "before a body is stored", trap: trap{Point: "create blobs before"}, definition: wordy, may: unknown},
		{where: "before a heartbeat", trap: trap{Point: "RecordActivityTaskHeartbeat before"}},
		{where: "after a heartbeat", trap: trap{Point: "RecordActivityTaskHeartbeat after", Skip: 1}},
		{where: "before a step is answered", trap: trap{Point: "RespondActivityTaskCompleted before"}},
		{where: "after a step was answered", trap: trap{Point: "RespondActivityTaskCompleted after"}, may: unknown},
		{where: "before a tool is answered", trap: trap{Point: "RespondActivityTaskCompleted before", Skip: 1}, may: unknown},
		{where: "before a workflow task is answered", trap: trap{Point: "RespondWorkflowTaskCompleted before"}},
		{where: "after a workflow task was answered", trap: trap{Point: "RespondWorkflowTaskCompleted after"}},
		{where: "before a rollover", trap: trap{Point: "rollover before"}, often: true},
		{where: "after a rollover", trap: trap{Point: "rollover after"}},
		{where: "when a prompt is assembled", trap: trap{Point: "step/assembled"}},
		{where: "in the gate before a step", trap: trap{Point: "gate pre-step"}, definition: gated},
		{where: "when a step starts", trap: trap{Point: "step/start"}},
		{where: "when a request is prepared", trap: trap{Point: "step/prepared"}},
		{where: "before the model is called", trap: trap{Point: "request/committed"}},
		{where: "in the middle of a stream", trap: trap{Point: "chunk", Skip: 12}, often: true},
		{where: "at the end of a stream", trap: trap{Point: "stream/end"}},
		{where: "after the message was logged", trap: trap{Point: "assistant/message"}},
		{where: "after the answer's last entry in the journal", trap: trap{Point: "step/settled"}},
		{where: "in the gate before a tool", trap: trap{Point: "gate pre-execute", In: "once"}, definition: gated},
		{where: "in the gate after a tool", trap: trap{Point: "gate post-execute", In: "once"}, definition: gated},
		{where: "before the ledger knows of a start", trap: trap{Point: "create effects/started before", In: "2-once"}},
		{where: "after the ledger knows of a start", trap: trap{Point: "create effects/started after", In: "2-once"}, may: unknown},
		{where: "before the effect of a once tool", trap: trap{Point: "body before", In: "once"}, may: unknown},
		{where: "after the effect of a once tool", trap: trap{Point: "body after", In: "once"}, may: unknown, often: true},
		{where: "before the ledger knows of a result", trap: trap{Point: "create effects/done before", In: "2-once"}, may: unknown},
		{where: "after the ledger knows of a result", trap: trap{Point: "create effects/done after", In: "2-once"}, often: true},
		{where: "after the effect of a keyed tool", trap: trap{Point: "body after", In: "keyed"}, may: unknown},
		{where: "before the effect of a reconcile tool", trap: trap{Point: "body before", In: "reconcile"}, may: unknown},
		{where: "after the effect of a reconcile tool", trap: trap{Point: "body after", In: "reconcile"}, may: unknown},
		{where: "in a pure tool", trap: trap{Point: "body before", In: "pure"}, may: unknown},
		{where: "while a fork claims its epoch", trap: trap{Point: "create epochs before", In: "fork"}, play: forking},
		{where: "before a fork names its head", trap: trap{Point: "create heads before", In: "fork"}, play: forking},
		{where: "after a fork named its head", trap: trap{Point: "create heads after", In: "fork"}, play: forking, often: true},
	}
	return each(rows, workerDies, die, trapped)
}

// zombies are workers that come back when another one has taken over.
func zombies() []strike {
	return each([]strike{
		{where: "before the events of a request are written", trap: trap{Point: "create segments before"}},
		{where: "before an answer is written", trap: trap{Point: "create segments before", Skip: 1}, often: true},
		{where: "before a part of the journal", trap: trap{Point: "create journal before", Skip: 1}},
		{where: "before a head is named", trap: trap{Point: "create heads before"}},
		{where: "in the middle of a stream", trap: trap{Point: "chunk", Skip: 12}},
		{where: "before a step is answered", trap: trap{Point: "RespondActivityTaskCompleted before"}},
		{where: "before a workflow task is answered", trap: trap{Point: "RespondWorkflowTaskCompleted before"}},
		{where: "before a rollover", trap: trap{Point: "rollover before"}},
		{where: "in the gate before a tool", trap: trap{Point: "gate pre-execute", In: "once"}, definition: gated},
		{where: "before the ledger knows of a start", trap: trap{Point: "create effects/started before", In: "2-once"}, may: toll{Unknown: true, Again: true}},
		{where: "before the effect of a once tool", trap: trap{Point: "body before", In: "once"}, may: toll{Unknown: true, Again: true}},
		{where: "before the ledger knows of a result", trap: trap{Point: "create effects/done before", In: "2-once"}, may: toll{Unknown: true, Again: true}},
		{where: "before the effect of a keyed tool", trap: trap{Point: "body before", In: "keyed"}, may: toll{Unknown: true, Again: true}},
		{where: "before the effect of a reconcile tool", trap: trap{Point: "body before", In: "reconcile"}, may: toll{Unknown: true, Again: true}},
	}, workerStands, halt, haunted)
}

// outages are what happens to server, network and store while a worker stands at a point, and goes on then.
func outages() (all []strike) {
	moments := []strike{
		{where: "in the middle of a stream", trap: trap{Point: "chunk", Skip: 12}},
		{where: "before a step is answered", trap: trap{Point: "RespondActivityTaskCompleted before"}},
		{where: "after the effect of a once tool", trap: trap{Point: "body after", In: "once"}},
	}
	tasks := []strike{
		{where: "before a workflow task is answered", trap: trap{Point: "RespondWorkflowTaskCompleted before"}},
		{where: "before a rollover", trap: trap{Point: "rollover before"}},
		{where: "after a rollover", trap: trap{Point: "rollover after"}},
	}
	writes := []strike{
		{where: "before the events of a request are written", trap: trap{Point: "step/prepared"}},
		{where: "before an answer is written", trap: trap{Point: "stream/end"}},
	}
	all = append(all, each(append(tasks, moments...), serverKilled, halt, during((*scene).killServer))...)
	all = append(all, each(moments, bothKilled, die, during((*scene).killServer))...)
	all = append(all, each(moments, serverStands, halt, during((*scene).stopServer))...)
	all = append(all, each(moments, networkCut, halt, during((*scene).cutNetwork))...)
	all = append(all, each(moments, networkSilent, halt, during((*scene).silenceNetwork))...)
	all = append(all, each(append(writes, moments...), storeAway, halt, during(weathers(away)))...)
	all = append(all, each(append(writes, moments...), storeFull, halt, during(weathers(full)))...)
	all = append(all, each(writes, storeSlow, halt, during(weathers(slow)))...)
	for i := range all {
		r := &all[i]
		r.own = r.what == serverKilled || r.what == bothKilled || r.what == serverStands
		switch {
		case r.what == bothKilled:
			r.may.Unknown = r.trap.Point == "body after"
		case r.what == storeAway, r.what == storeFull:
			r.may.Store = true
		}
		switch all[i].name() {
		case serverKilled + ", in the middle of a stream", networkCut + ", after the effect of a once tool", storeFull + ", before an answer is written":
			all[i].often = true
		}
	}
	return append(all, each([]strike{
		{where: "of the events of a request", trap: trap{Point: "create segments before"}},
		{where: "of an answer", trap: trap{Point: "create segments before", Skip: 1}, often: true},
		{where: "of the journal", trap: trap{Point: "create journal before", Skip: 1}},
		{where: "of a head", trap: trap{Point: "create heads before"}},
		{where: "of a body", trap: trap{Point: "create blobs before"}, definition: wordy, may: unknown},
		{where: "of a start in the ledger", trap: trap{Point: "create effects/started before", In: "2-once"}, may: unknown},
		{where: "of a result in the ledger", trap: trap{Point: "create effects/done before", In: "2-once"}, may: unknown},
	}, torn, tear, trapped)...)
}

// byHand are what an operator does, and what a disk does.
func byHand() []strike {
	return []strike{
		{what: "object of the log damaged on disk", where: "at rest", may: toll{Store: true}, play: damaged},
		{what: "Temporal reset with a zombie still running", where: "in the middle of a stream", trap: trap{Point: "chunk", Skip: 2, Do: halt}, play: resetWithZombie, often: true},
		{what: "Temporal reset with a zombie still running", where: "before the effect of a once tool", trap: trap{Point: "body before", Do: halt}, may: unknown, play: resetWithZombie},
		{what: "Temporal reset with a zombie still running", where: "before an answer is written", trap: trap{Point: "create segments before", Skip: 1, Do: halt}, play: resetWithZombie},
		{what: "Temporal terminate with a zombie still running", where: "in the middle of a stream", trap: trap{Point: "chunk", Skip: 12, Do: halt}, may: toll{Cut: true}, play: terminatedWithZombie, often: true},
		{what: "Temporal terminate with a zombie still running", where: "before the effect of a once tool", trap: trap{Point: "body before", In: "once", Do: halt}, may: toll{Cut: true, Unknown: true}, play: terminatedWithZombie},
		{what: "Temporal terminate with a zombie still running", where: "before a tool is answered", trap: trap{Point: "tool/done", Do: halt}, may: toll{Cut: true, Unknown: true}, play: terminatedWithZombie},
		{what: "server's database restored to an older copy", where: "and the agent reset", play: restored, own: true, often: true},
		{what: "server's database restored to an older copy", where: "and the agent left as it is", play: restoredOnly, own: true},
	}
}

// each completes rows that have something in common.
func each(rows []strike, what string, do deed, play func(*scene, strike)) (out []strike) {
	for _, r := range rows {
		r.what, r.trap.Do = what, do
		if r.play == nil {
			r.play = play
		}
		out = append(out, r)
	}
	return out
}
