package store

import "fmt"

// maxSources bounds how many seqs the ranges of one record may stand for.
const maxSources = 1 << 26

// packSeqs writes seqs as runs [first, last] in the order given.
func packSeqs(seqs []int64) [][2]int64 {
	runs := [][2]int64{}
	for _, s := range seqs {
		if n := len(runs); n > 0 && runs[n-1][1]+1 == s {
			runs[n-1][1] = s
			continue
		}
		runs = append(runs, [2]int64{s, s})
	}
	return runs
}

// unpackSeqs is the inverse of packSeqs.
func unpackSeqs(runs [][2]int64) ([]int64, error) {
	var total int64
	for _, r := range runs {
		if r[0] < 0 || r[1] < r[0] || r[1]-r[0] >= maxSources-total {
			return nil, fmt.Errorf("sources: bad range %d to %d", r[0], r[1])
		}
		total += r[1] - r[0] + 1
	}
	seqs := make([]int64, 0, total)
	for _, r := range runs {
		for s := r[0]; s <= r[1]; s++ {
			seqs = append(seqs, s)
		}
	}
	return seqs, nil
}
