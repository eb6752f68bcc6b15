package tools_test

import (
	"context"
	"fmt"

	"github.com/everturn/everturn/tools"
)

// A tool is an ordinary function; its schema is the type of its arguments.
func ExampleNew() {
	type args struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	weather, err := tools.New("weather", "Tells the weather of a city.",
		func(_ context.Context, in args) (string, error) { return "sunny in " + in.City, nil },
		tools.ParallelSafe(), tools.WithEffect(tools.Pure))
	if err != nil {
		panic(err)
	}
	result, err := weather.Invoke(context.Background(), `{"city":"Lisbon"}`)
	fmt.Println(result.Content.Text(), err)
	_, err = weather.Invoke(context.Background(), `{"town":"Lisbon"}`)
	fmt.Println(err)
	// Output:
	// sunny in Lisbon <nil>
	// invalid arguments for tool "weather": field "city": required, but missing
}

// A coded error lets the log and the program tell failures apart.
func ExampleCoded() {
	err := fmt.Errorf("pay: %w", tools.Coded("PaymentError", "CARD_DECLINED", "the card was declined"))
	name, code, _ := tools.ErrorOf(err)
	fmt.Println(name, code)
	// Output: PaymentError CARD_DECLINED
}

// A set orders the tools of an agent; the marker stands for all that are not named.
func ExampleSet_Schemas() {
	nothing := func(context.Context, struct{}) (string, error) { return "", nil }
	set, err := tools.NewSet(
		tools.Must(tools.New("write", "", nothing)),
		tools.Must(tools.New("ask", "", nothing)),
		tools.Must(tools.New("read", "", nothing)))
	if err != nil {
		panic(err)
	}
	schemas, err := set.Schemas([]string{"read", tools.Rest})
	for _, s := range schemas {
		fmt.Println(s.Name)
	}
	fmt.Println(err)
	// Output:
	// read
	// ask
	// write
	// <nil>
}
