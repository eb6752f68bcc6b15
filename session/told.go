package session

// What the world can be told of a session, beside what its log says. The names are stable, and never reused for another
// meaning.
const (
	ToldApprovalAsked    = "approval.asked"
	ToldApprovalDecided  = "approval.decided" // of what was asked, however it ended
	ToldQuestionAsked    = "question.asked"
	ToldQuestionAnswered = "question.answered" // or expired, or cancelled
	ToldClientCalled     = "client.called"
	ToldClientAnswered   = "client.answered" // or expired, or cancelled
	ToldTurnEnded        = "turn.ended"
	ToldError            = "error"
	ToldBudget           = "budget" // the tokens of an agent passed a multiple of its budget
)

// Told lists what can be told, in a fixed order.
func Told() []string {
	return []string{ToldApprovalAsked, ToldApprovalDecided, ToldQuestionAsked, ToldQuestionAnswered, ToldClientCalled,
		ToldClientAnswered, ToldTurnEnded, ToldError, ToldBudget}
}

// ToldWaits lists what is told of calls that wait for somebody outside.
func ToldWaits() []string { return Told()[:6] }
