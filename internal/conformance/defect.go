package conformance

import (
	"fmt"

	"github.com/everturn/everturn/internal/store"
)

// defect lets an activity fail for good, once: as one does whose session was taken over. No answer of it will come, and no
// worker tries again.
func (w *world) defect(p pointSpec) error {
	if _, done := w.defects.LoadOrStore(p, true); done {
		return nil
	}
	return fmt.Errorf("the scenario lets the activity fail for good: %w", store.ErrFenced)
}
