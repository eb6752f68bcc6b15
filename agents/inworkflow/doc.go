// Package inworkflow lets a workflow of yours work with agents: start one as a child workflow, or take one that lives, send
// it messages, and wait for its answers for as long as it takes.
//
//	func Order(ctx workflow.Context, text string) (string, error) {
//		ctx = inworkflow.Listen(ctx) // once, before everything else
//		clerk, err := inworkflow.Start(ctx, inworkflow.Options{Create: signals.Create{Definition: "clerk"}, WhenCancelled: inworkflow.EndIt})
//		if err != nil {
//			return "", err
//		}
//		defer clerk.Release(ctx)
//		answer, err := clerk.Ask(ctx, text)
//		return answer.Text, err
//	}
//
// Your worker needs nothing for that: no interceptor, no activity, no store. Messages are signals. What became of one is
// looked up by an activity of the workers that run the agent ([signals.AwaitActivity]), which is tried again with pauses of
// up to a minute: that a wait lasts a week is no event of your history. An agent that was started here says by a signal of
// the name [signals.ChildSays] that it is idle, which ends the pause; the truth is what is looked up, so nothing is lost
// with a signal that nobody heard. Your workflow must not receive from the channel of that name itself.
//
// An [Agent] is a plain value. Hand it, and the ids of messages that you wait for, to the next run when your workflow
// continues as new; the agent may roll over whenever it likes. It goes on when your workflow ends, see [Agent.Dispose] and
// [Agent.Release].
//
// All calls take the context that [Listen] returned, or one made from it. What fails is an [*Error]; a cancelled context
// gives the SDK's CanceledError.
package inworkflow
