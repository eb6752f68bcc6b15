package main

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

// actions counts what Temporal Cloud bills of a workflow's history: starts, signals, activities, timers, child workflows,
// and local activities, by workflow task; and how many changes of its search attributes come on top. Queries, updates and
// heartbeats are billed too: they are the caller's, or are not in the history.
func (s *site) actions(ctx context.Context, id string) (billed, attributes int, err error) {
	local := map[int64]bool{} // workflow tasks with local activities
	err = everyEvent(ctx, s.sdk, id, func(e *historypb.HistoryEvent) {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
			enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_TIMER_STARTED:
			billed++
		case enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
			attributes++
		case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
			billed += 2
		case enumspb.EVENT_TYPE_MARKER_RECORDED:
			if task := e.GetMarkerRecordedEventAttributes().GetWorkflowTaskCompletedEventId(); !local[task] {
				local[task] = true
				billed++
			}
		}
	})
	return billed, attributes, err
}
