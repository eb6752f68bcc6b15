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
// [Activities.Tool] runs one call, spec §4.8, or one stage of it: the gate before the body, the body within its wrappers,
// the gate after it. The effect ledger says whether a body may run again. A result that is too large for the model comes
// with a projection, spec §9.4.
//
// [Activities.Setup] gives birth to an agent, [Activities.Hook] runs the hooks of a point of its life, spec §4.9.4 and
// §6.1, and [Activities.Maintain] lets a task work on its log while it is idle, spec §3.6. Compaction, spec §9.3, is part
// of a step, before its request or after a refusal, and a maintenance task.
//
// An error of a method means that nothing was decided and that the method should be executed again, unless it was made
// by Config.Refuse. Everything that belongs to the agent, such as a failed gate, model call or tool, is an answer.
package activities
