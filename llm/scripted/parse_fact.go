package scripted

import (
	"encoding/json"

	"github.com/everturn/everturn/session"
)

func (p *parser) usagePiece() error {
	var u session.Usage
	var err error
	if u.InputTokens, err = p.number("input tokens"); err != nil {
		return err
	}
	if u.OutputTokens, err = p.number("output tokens"); err != nil {
		return err
	}
	buckets := map[string]*int64{"cache-read": &u.CacheReadTokens, "cache-write": &u.CacheWriteTokens, "reasoning": &u.ReasoningTokens}
	for {
		key, ok := p.key("cache-read", "cache-write", "reasoning")
		if !ok {
			p.sendUsage(u)
			return nil
		}
		if *buckets[key], err = p.number(key); err != nil {
			return err
		}
	}
}

func (p *parser) chunkPiece() error {
	p.more()
	pos := p.pos
	raw, err := p.json("a chunk as a JSON object")
	if err != nil {
		return err
	}
	c, err := session.UnmarshalChunk([]byte(raw))
	if err != nil {
		return p.fail(pos, "a chunk as a JSON object (%v)", err)
	}
	p.raw(c)
	return nil
}

func (p *parser) replayPiece() error {
	p.more()
	pos := p.pos
	raw, err := p.json("the replay state as a JSON object")
	if err != nil {
		return err
	}
	var state *session.ReplayState
	if json.Unmarshal([]byte(raw), &state) != nil || state == nil {
		return p.fail(pos, `the replay state as a JSON object such as {"blocks":[null]}`)
	}
	p.replay = state
	return nil
}

func (p *parser) holdPiece() error {
	p.more()
	pos := p.pos
	name, err := p.word("the name of the hold")
	if err == nil && name == "" {
		err = p.fail(pos, "the name of the hold")
	}
	if err != nil {
		return err
	}
	p.hold(name)
	return nil
}

func (p *parser) delayPiece() error {
	d, err := p.duration("a delay")
	if err != nil {
		return err
	}
	p.delay(d)
	return nil
}
