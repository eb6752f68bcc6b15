package llm_test

import (
	"fmt"
	"time"

	"github.com/everturn/everturn/llm"
)

// The default policy waits longer each time and gives up after five retries; what cannot help is not retried at all.
func ExampleRetryPolicy_Delay() {
	var policy llm.RetryPolicy
	for n := 1; n <= 6; n++ {
		wait, again := policy.Delay(llm.Server, 0, n, 0.5)
		fmt.Println(n, wait, again)
	}
	_, again := policy.Delay(llm.Auth, 0, 1, 0.5)
	fmt.Println(llm.Auth, again)
	wait, again := policy.Delay(llm.RateLimit, 3*time.Second, 1, 0.5)
	fmt.Println(llm.RateLimit, wait, again)
	// Output:
	// 1 500ms true
	// 2 1s true
	// 3 2s true
	// 4 4s true
	// 5 8s true
	// 6 0s false
	// AUTH false
	// RATE_LIMIT 3s true
}
