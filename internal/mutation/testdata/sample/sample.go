// Package sample is broken by the test of the mutation check.
package sample

// Sum adds two numbers.
func Sum(a, b int) int {
	return a + b
}
