package explore

// Worlds are explored by the tests; together they meet every kind of act, answer, loss and rollover, in every order that
// their bounds allow.
var Worlds = []World{
	{Name: "inbox", Short: true, Purse: with(SenderA, 2, SenderB, 1, Cancels, 2, Rollovers, 1)},
	{Name: "edits", Twists: 2, Purse: with(SenderA, 2, SenderB, 1, Cancels, 1, Edits, 1, Batches, 1)},
	{Name: "moves", Twists: 3, Short: true, Purse: with(SenderA, 3, Cancels, 1, Moves, 2, Rollovers, 1)},
	{Name: "interrupts", Twists: 2, Tools: []Tool{{ID: "c1", Gated: true, Asking: true}},
		Purse: with(SenderA, 2, Cancels, 1, Interrupts, 2, ToolSteps, 1, Retries, 1, Upkeeps, 1, Rollovers, 1)},
	{Name: "steps", Twists: 4, Purse: with(SenderA, 2, Cancels, 1, Refusals, 1, Failures, 1, Retries, 2, StepLosses, 2, Cuts, 1, Rollovers, 1, Acts, 1)},
	{Name: "upkeep", Twists: 3, Purse: with(SenderA, 2, Cancels, 2, Upkeeps, 1, Rollovers, 1, StoreFails, 1, ToolLosses, 1, Acts, 1, Disposals, 1)},
	{Name: "native", Twists: 4, Short: true, Purse: with(SenderA, 1, Cancels, 1, Natives, 2, Disposals, 1, Upkeeps, 1, Rollovers, 1)},
	{Name: "tools", Twists: 3, Tools: []Tool{{ID: "c1", Parallel: true}, {ID: "c2", Parallel: true}, {ID: "c3"}},
		Purse: with(SenderA, 2, Cancels, 1, ToolSteps, 1, ToolLosses, 2, Defects, 1, BadResults, 2, Acts, 1, Rollovers, 1)},
	{Name: "approvals", Twists: 2, Tools: []Tool{{ID: "c1", Gated: true, Posted: true, Asking: true, Deadline: true}, {ID: "c2", Parallel: true, Gated: true, Asking: true}},
		Purse: with(SenderA, 1, SenderB, 1, Cancels, 1, ToolSteps, 1, ToolLosses, 1, Defects, 1, BadResults, 1, Acts, 1, Rollovers, 2)},
	{Name: "hooks", Twists: 3, Hooks: true, Purse: with(SenderA, 2, Cancels, 2, Rollovers, 1, Acts, 2, Failures, 1, ToolLosses, 1, Disposals, 1)},
	{Name: "three", Twists: 1, Tools: []Tool{{ID: "c1", Parallel: true, Gated: true, Asking: true, Deadline: true}, {ID: "c2", Parallel: true}},
		Purse: with(SenderA, 2, SenderB, 1, Cancels, 1, Natives, 1, Disposals, 1, Upkeeps, 1, Edits, 1, Batches, 1, Rollovers, 1, ToolSteps, 1,
			Cuts, 1, Refusals, 1, Failures, 1, Retries, 1, StepLosses, 1, ToolLosses, 1, BadResults, 1, StoreFails, 1, Acts, 1)},
	{Name: "whole", Twists: 2, Hooks: true, Tools: []Tool{{ID: "c1", Parallel: true, Gated: true, Asking: true, Deadline: true}, {ID: "c2", Parallel: true}},
		Purse: with(SenderA, 1, SenderB, 1, Cancels, 2, Natives, 1, Disposals, 1, Upkeeps, 1, Rollovers, 1, ToolSteps, 1,
			Cuts, 1, Refusals, 1, Failures, 1, Retries, 1, StepLosses, 1, ToolLosses, 1, BadResults, 1, StoreFails, 1, Acts, 1)},
}
