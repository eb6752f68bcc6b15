// Package activities does the work of an agent: it is where prompts, gates, models, tools and the store are touched.
//
// [Activities] has one method for each activity of package work, under the same name. The methods know no workflow
// engine: heartbeats, the number of the execution and what a cancelled context means come from [Config], so the same
// code runs as Temporal activities (see [OnTemporal]) and in an engine without Temporal.
//
// [Activities.Step] runs one attempt of one proposed step, spec §4.4 to §4.7, phase by phase: load, assemble, decide,
// enter, propose, commit, freeze, stream, settle. What it appends becomes part of the log only when the caller records
// the head it answers with. It may be executed again at any point: the journal of the attempt says how far an earlier
// execution came, so a model call whose answer was settled is not made again and nothing is logged twice.
//
// [Activities.Tool] runs one call, spec §4.8; the effect ledger says whether it may run again.
//
// An error of a method means that nothing was decided and that the method should be executed again, unless it was made
// by Config.Refuse. Everything that belongs to the agent, such as a failed gate, model call or tool, is an answer.
package activities
