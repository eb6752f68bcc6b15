package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
)

// A lot is the faults of one package in the order in which they are drawn.
type lot struct {
	queues [][]site // by operator
	turn   int
}

// draws makes the lots of all packages. The place of a fault in the order depends on the seed and its name alone, so
// that a change of the code draws other faults only where it is.
func draws(root string, seed int64) ([]*lot, error) {
	var lots []*lot
	for _, pkg := range packages {
		all, err := sites(root, pkg)
		if err != nil {
			return nil, err
		}
		lots = append(lots, shuffled(all, seed))
	}
	return lots, nil
}

func shuffled(all []site, seed int64) *lot {
	l := &lot{queues: make([][]site, len(operators))}
	for i, operator := range operators {
		for _, s := range all {
			if s.operator == operator {
				l.queues[i] = append(l.queues[i], s)
			}
		}
		slices.SortFunc(l.queues[i], func(a, b site) int { return cmp.Compare(rank(seed, a.name), rank(seed, b.name)) })
	}
	return l
}

func rank(seed int64, name string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", seed, name)
	x := h.Sum64() // mixed once more: names that begin alike must not stay together
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// next draws a fault, of each operator in turn; ok is false if there are no more.
func (l *lot) next() (f fault, ok bool) {
	for range l.queues {
		q := &l.queues[l.turn]
		l.turn = (l.turn + 1) % len(l.queues)
		if len(*q) > 0 {
			f, *q = (*q)[0].fault, (*q)[1:]
			return f, true
		}
	}
	return fault{}, false
}

// draw takes n faults, of each package in turn. What does not compile is no fault: it is counted as refused, and another
// one is drawn.
func draw(lots []*lot, n int, compiles func(fault) (bool, error)) (drawn []fault, refused int, err error) {
	empty := 0
	for turn := 0; len(drawn) < n && empty < len(lots); turn = (turn + 1) % len(lots) {
		f, ok := lots[turn].next()
		if !ok {
			empty++
			continue
		}
		empty = 0
		good, err := compiles(f)
		if err != nil {
			return nil, 0, err
		}
		if !good {
			refused++
			turn-- // the same package again
			continue
		}
		drawn = append(drawn, f)
	}
	return drawn, refused, nil
}
