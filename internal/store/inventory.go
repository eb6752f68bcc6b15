package store

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The kinds of objects, as [Plan] counts them. Their names are those of their folders.
const (
	kindSegments = "segments"
	kindBlobs    = "blobs"
	kindJournal  = "journal"
	kindHeads    = "heads"
	kindEpochs   = "epochs"
	kindEffects  = "effects"
	kindHeaders  = "headers"
	kindWaiting  = "waiting"
)

// An inventory is what was in the store at one moment. What is made later is not in it, so it is never deleted.
type inventory struct {
	segments, blobs map[string]Object // by hash
	effects         []Object
	sessions        map[string]*belongings // by the part of the key that stands for the id
	seen            map[string]bool        // keys of heads and journals
}

// belongings are the objects of one session that are named after it, in the order of their keys.
type belongings struct {
	id      string // empty if nothing tells
	header  []Object
	heads   []Object
	epochs  []Object
	journal []Object
	waits   []Object
}

// stored reports whether there is a session: somebody can read or resume it.
func (b *belongings) stored() bool { return len(b.header)+len(b.heads) > 0 }

func (s *Store) takeInventory(ctx context.Context) (*inventory, error) {
	inv := &inventory{segments: map[string]Object{}, blobs: map[string]Object{}, sessions: map[string]*belongings{}, seen: map[string]bool{}}
	for obj, err := range s.objects.Stats(ctx, "") {
		if err != nil {
			return nil, fmt.Errorf("list the store: %w", err)
		}
		inv.add(obj)
	}
	for part, b := range inv.sessions {
		var err error
		if b.id, err = s.idOf(ctx, part, b); err != nil {
			return nil, err
		}
	}
	return inv, nil
}

func (inv *inventory) add(obj Object) {
	kind, rest, _ := strings.Cut(obj.Key, "/")
	part, _, _ := strings.Cut(rest, "/")
	hash := obj.Key[strings.LastIndexByte(obj.Key, '/')+1:]
	switch kind {
	case kindSegments:
		inv.segments[hash] = obj
	case kindBlobs:
		inv.blobs[hash] = obj
	case kindEffects:
		inv.effects = append(inv.effects, obj)
	case kindWaiting:
		_, rest, _ = strings.Cut(rest, "/")
		part, _, _ = strings.Cut(rest, "/")
		inv.of(part).waits = append(inv.of(part).waits, obj)
	case kindHeaders:
		inv.of(part).header = append(inv.of(part).header, obj)
	case kindHeads:
		inv.of(part).heads = append(inv.of(part).heads, obj)
		inv.seen[obj.Key] = true
	case kindEpochs:
		inv.of(part).epochs = append(inv.of(part).epochs, obj)
	case kindJournal:
		inv.of(part).journal = append(inv.of(part).journal, obj)
		inv.seen[obj.Key] = true
	}
}

func (inv *inventory) of(part string) *belongings {
	b := inv.sessions[part]
	if b == nil {
		b = &belongings{}
		inv.sessions[part] = b
	}
	return b
}

// idOf is the session's id: from the key, or from a body if it was too long for that.
func (s *Store) idOf(ctx context.Context, part string, b *belongings) (string, error) {
	if id, ok := unescape(part); ok {
		return id, nil
	}
	for _, objects := range [][]Object{b.header, b.heads, b.epochs, b.waits} {
		for _, obj := range objects {
			id, err := s.sessionOf(ctx, obj.Key, part)
			if !errors.Is(err, ErrNotFound) {
				return id, err
			}
		}
	}
	return "", nil // journals alone: they do not say whose they are
}

// keyPlace is what follows the session's id in the key of an effect.
var keyPlace = regexp.MustCompile(`/\d+/\d+\.\d+/`)

// ownersOf are the sessions that an effect may belong to: the key session/epoch/turn.step/call does not tell for sure,
// since ids may hold anything. None: it is no key of a call.
func (s *Store) ownersOf(ctx context.Context, obj Object) (ids []string, err error) {
	part := obj.Key[strings.LastIndexByte(obj.Key, '/')+1:]
	key, ok := unescape(part)
	if !ok {
		e, err := s.startedEffect(ctx, "effects/started/"+part)
		if err != nil {
			if errors.Is(err, ErrNotFound) {
				return nil, nil
			}
			return nil, err
		}
		key = e.Key
	}
	for at := 0; at < len(key); {
		found := keyPlace.FindStringIndex(key[at:])
		if found == nil {
			break
		}
		if found[0]+at > 0 {
			ids = append(ids, key[:found[0]+at])
		}
		at += found[0] + 1
	}
	return ids, nil
}

// A spot is where in a session the journal of an attempt belongs.
type spot struct {
	epoch      int64
	turn, step int
}

// spotOf reads the key of a journal's part, wherever it lies: see [Journal].
func spotOf(key string) (at spot, err error) {
	parts := strings.Split(key, "/")
	flat := len(parts) == 4 && strings.Count(parts[3], ".") == 4
	if len(parts) != 7 && !flat {
		return at, damaged(key, "its name is no journal part", nil)
	}
	turn, rest, _ := strings.Cut(parts[3], ".")
	step, _, _ := strings.Cut(rest, ".")
	var bad [3]error
	at.epoch, bad[0] = strconv.ParseInt(parts[2], 10, 64)
	at.turn, bad[1] = strconv.Atoi(turn)
	at.step, bad[2] = strconv.Atoi(step)
	if err := errors.Join(bad[:]...); err != nil {
		return at, damaged(key, "its name is no journal part", err)
	}
	return at, nil
}
