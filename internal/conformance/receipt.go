package conformance

import (
	"errors"
	"strings"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/signals"
)

// An outcome is what an act came to.
type outcome struct {
	receipt *signals.Receipt
	err     error
}

// sent notes an accepted message.
func (r *run) sent(id string, receipt signals.Receipt, err error) outcome {
	if err == nil && id != "" {
		r.inserts = append(r.inserts, id)
	}
	return outcome{receipt: &receipt, err: err}
}

// refusal is the code of a refused act.
func (o outcome) refusal() string {
	var refused *agents.RefusedError
	if errors.As(o.err, &refused) {
		return refused.Code
	}
	return ""
}

// words is the receipt as scenarios write it.
func (o outcome) words() string {
	if o.err != nil {
		return "refused " + o.refusal()
	}
	if o.receipt == nil {
		return "none"
	}
	return receiptWords(*o.receipt)
}

func receiptWords(r signals.Receipt) string {
	out := string(r.Disposition)
	switch {
	case r.Code != "":
		out += " " + r.Code
	case r.Found != nil && *r.Found:
		out += " found"
	case r.Found != nil:
		out += " not-found"
	}
	var inner []string
	for _, i := range r.Receipts {
		inner = append(inner, receiptWords(i))
	}
	if inner != nil {
		out += ": " + strings.Join(inner, ", ")
	}
	return out
}
