package explore

import (
	"slices"

	"github.com/everturn/everturn/internal/work"
)

// onward lets something go on: who stands, or the clock.
func (p *player) onward() {
	held := p.held()
	switch {
	case len(held) > 0:
		p.goOn(held)
	case p.model.Stage == Waiting && p.clock == never:
		p.cancel()
	default:
		p.note("time passes")
		p.pass()
		p.passed()
	}
}

// goOn lets one of those go that stand.
func (p *player) goOn(held []place) {
	n := p.IntN(len(held))
	p.note("onward from %s", held[n])
	p.release(n)
	switch h := held[n]; h.point {
	case atTask:
		p.model.Returned()
		p.model.Maintained()
	case atHook:
		if p.model.Stage == Greeting {
			p.model.Greeted()
		} else {
			p.model.Objected("")
		}
	case atBody:
		p.bodyOver(h.tool)
	default:
		p.stepOn()
	}
}

// passed is what time brings: the rest of a stream, or the next attempt.
func (p *player) passed() {
	switch {
	case p.paused:
		p.paused, p.at = false, atEnd
	case p.model.Stage == Waiting:
		p.again()
	}
}

// again begins the next attempt.
func (p *player) again() {
	p.c.Met("attempts repeated", 1)
	p.model.Retried()
	p.at = atPrepared
}

// stepOn moves the step to its next point, or ends it: spec §4.4–4.7, §5 X3–X9.
func (p *player) stepOn() {
	cancelled, at := p.model.Cause != "", p.at
	users, how := p.users()
	p.at = ""
	switch {
	case at == atAssembled && cancelled:
		p.answered(Answer{})
	case at == atAssembled && how != "":
		p.answered(Answer{Ends: how})
	case at == atAssembled:
		p.at = atPrepared
	case at == atPrepared && cancelled:
		p.answered(Answer{Entered: true})
	case at == atPrepared:
		p.at = atCommitted
	case at == atCommitted && cancelled:
		p.answered(Answer{Entered: true, Committed: true, Users: users})
	case at == atCommitted && planOf(p.last()) == planPause && !p.retried["paused "+p.last()]:
		p.paused = true
	case at == atCommitted:
		p.at = atEnd
	default:
		p.answered(p.settled(users))
	}
}

// last is the message that the request ends with; empty if that is a tool result.
func (p *player) last() string {
	users, _ := p.users()
	if len(users) == 0 {
		return ""
	}
	return users[len(users)-1]
}

// users are the messages of the batch that enter, and how the turn ends if none does.
func (p *player) users() (in []string, ends string) {
	for _, id := range p.batch {
		switch planOf(id) {
		case planReject:
			return nil, "blocked"
		case planKept:
		default:
			in = append(in, id)
		}
	}
	if len(in) == 0 && !p.owed {
		return nil, "empty"
	}
	return in, ""
}

// settled is how the model's answer is settled, by the plan of the last message: spec §4.7.3.
func (p *player) settled(users []string) Answer {
	a := Answer{Entered: true, Committed: true, Users: users, Settled: "AM"}
	id := p.last()
	switch pl := planOf(id); {
	case p.cut:
		a.Settled = "AM!"
	case pl == planCut:
		a.Cut = true
	case pl == planFail:
		a.Settled, a.Ends = "AA", "error AUTH"
	case pl == planRetry && !p.retried[id]:
		p.retried[id] = true
		a.Settled, a.Later = "AA", true
	default:
		a.Calls = len(callsOf(pl))
	}
	return a
}

// answered ends the attempt on the model's side.
func (p *player) answered(a Answer) {
	id := p.last()
	p.cut, p.calls = false, nil
	if p.model.StepOpen { // a later attempt repeats no user, §4.5.7
		a.Users = nil
	}
	for _, tool := range callsOf(planOf(id))[:a.Calls] {
		p.calls = append(p.calls, part{id: tool + "-" + id, tool: tool})
	}
	if !a.Later {
		p.owed = false
	}
	p.model.Answered(a)
	p.model.Decide(a)
	p.startCalls()
}

// startCalls follows the schedule of spec §4.8; after a cancel nothing starts, and when nothing runs any more the rest
// is answered: X9, X10.
func (p *player) startCalls() {
	if p.model.Cause != "" {
		for i := range p.calls {
			if c := &p.calls[i]; !c.running && c.result == "" {
				c.result = "TR!(" + c.id + "," + work.CodeAbortedBeforeDispatch + ")"
			}
		}
		p.commit()
		return
	}
	for i := range p.calls {
		c := &p.calls[i]
		if c.running || c.result != "" {
			continue
		}
		if c.tool == "alone" && slices.ContainsFunc(p.calls[:i], func(b part) bool { return b.result == "" }) {
			return
		}
		if slices.ContainsFunc(p.calls[:i], func(b part) bool { return b.tool == "alone" && b.result == "" }) {
			return
		}
		c.running = true
	}
}

// bodyOver ends a body; a success that comes after a cancel is not one, X10.
func (p *player) bodyOver(tool string) {
	for i := range p.calls {
		c := &p.calls[i]
		if c.tool != tool {
			continue
		}
		c.running, c.result = false, "TR("+c.id+")"
		if p.model.Cause != "" {
			c.result = "TR!(" + c.id + "," + work.CodeAborted + ")"
		}
	}
	p.commit()
	p.startCalls()
}

// commit appends the results whose predecessors are all in the log, §4.8.5.
func (p *player) commit() {
	for i := range p.calls {
		c := &p.calls[i]
		switch {
		case c.done:
			continue
		case c.result == "":
			return
		}
		c.done, p.owed = true, true
		p.model.Result(c.result, nil, false)
	}
}
