package local

import (
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// input turns an item into what the driver understands; nil says nothing to it.
func (k *task) input(i item) (driver.Input, error) {
	switch i.Name {
	case work.Setup:
		if i.Lost != "" {
			return nil, nil
		}
		return driver.Born{Out: answerOf[work.SetupOut](i)}, nil
	case work.Step:
		return stepInput(i), nil
	case work.Tool:
		return toolInput(i), nil
	case work.Hook:
		return hookInput(i), nil
	case work.Maintain:
		return maintainInput(i), nil
	case work.Configure:
		return configureInput(i), nil
	case work.Persist:
		if i.Lost != "" {
			return driver.PersistFailed{ID: i.ID, Message: i.Text}, nil
		}
		return driver.Persisted{ID: i.ID, Out: answerOf[work.PersistOut](i)}, nil
	case work.CancelReason:
		return nativeInput(i), nil
	case itemTimer:
		return driver.TimerFired{ID: i.ID}, nil
	case itemRoll:
		return driver.RollAsked{}, nil
	case itemResume:
		return driver.Resumed{}, nil
	default:
		if in := childInput(i); in != nil {
			return in, nil
		}
		return k.act(i)
	}
}

func stepInput(i item) driver.Input {
	if i.Lost != "" {
		return driver.StepLost{ID: i.ID, Why: i.Lost, Message: i.Text}
	}
	return driver.StepDone{ID: i.ID, Out: answerOf[work.StepOut](i)}
}

func toolInput(i item) driver.Input {
	if i.Lost != "" {
		return driver.ToolLost{ID: i.ID, Why: i.Lost, Message: i.Text}
	}
	return driver.ToolDone{ID: i.ID, Out: answerOf[work.ToolOut](i)}
}

func hookInput(i item) driver.Input {
	if i.Lost != "" {
		return driver.HookLost{ID: i.ID, Message: i.Text}
	}
	return driver.HookDone{ID: i.ID, Out: answerOf[work.HookOut](i)}
}

func maintainInput(i item) driver.Input {
	if i.Lost != "" {
		return driver.MaintainLost{ID: i.ID, Why: i.Lost, Message: i.Text}
	}
	return driver.MaintainDone{ID: i.ID, Out: answerOf[work.MaintainOut](i)}
}

func configureInput(i item) driver.Input {
	if i.Lost != "" {
		return driver.ConfigureLost{ID: i.ID, Message: i.Text}
	}
	return driver.ConfigureDone{ID: i.ID, Out: answerOf[work.ConfigureOut](i)}
}

// nativeInput is the cancel that a native cancellation asks for; without a reason it was the user. See architecture A3.9.
func nativeInput(i item) driver.Input {
	out := answerOf[work.CancelReasonOut](i)
	if i.Lost != "" {
		out.Cause = session.Cause{Kind: session.CauseUser}
	}
	if out.Dispose {
		return driver.DisposeAsked{Native: true}
	}
	return driver.CancelAsked{Cause: out.Cause, KeepInbox: out.KeepInbox, Via: driver.ViaNative, By: out.By, Text: out.Text}
}
