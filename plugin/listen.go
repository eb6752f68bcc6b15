package plugin

// Tell hands a notice to the listeners of definitions, in order. One that panics affects nothing: failed, unless it is
// nil, is told of it. See spec §2.5.
func Tell(all []*Definition, n Notice, failed func(n Notice, reason any)) {
	for _, d := range all {
		for _, l := range d.Listeners {
			tell(l, n, failed)
		}
	}
}

func tell(l Listener, n Notice, failed func(Notice, any)) {
	defer func() {
		if reason := recover(); reason != nil && failed != nil {
			failed(n, reason)
		}
	}()
	l(n)
}
