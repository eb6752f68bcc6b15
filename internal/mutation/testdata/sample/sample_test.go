package sample

import "testing"

func TestSum(t *testing.T) {
	if got := Sum(2, 3); got != 5 {
		t.Errorf("2 and 3 are %d", got)
	}
}
