package conformance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// An absent item is one of spec §10 that cannot exist here: what is listed in not-applicable.txt.
type absent struct {
	pos
	id   string
	said map[string]string // rule, why, instead
}

// notApplicable is the file of absent items; it lies beside the scenarios or beside their folder.
const notApplicable = "not-applicable.txt"

// loadAbsent reads the absent items that belong to a folder of scenarios, and checks them.
func loadAbsent(dir string, all []*Scenario) error {
	for _, place := range []string{filepath.Join(dir, notApplicable), filepath.Join(filepath.Dir(filepath.Clean(dir)), notApplicable)} {
		data, err := os.ReadFile(place)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		items, err := parseAbsent(place, string(data))
		return errors.Join(err, checkAbsent(items, all))
	}
	return nil
}

var (
	absentID   = regexp.MustCompile(`^C-\d+$`)
	absentSays = regexp.MustCompile(`^  (rule|why|instead): +(.+)$`)
	namedID    = regexp.MustCompile(`C-\d+`)
)

func parseAbsent(file, text string) (items []*absent, err error) {
	var wrong []error
	last := ""
	for n, line := range strings.Split(text, "\n") {
		at, said := pos{file, n + 1}, absentSays.FindStringSubmatch(line)
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case absentID.MatchString(line):
			items, last = append(items, &absent{at, line, map[string]string{}}), ""
		case len(items) == 0:
			wrong = append(wrong, fmt.Errorf("%s: an item begins with its id, got %q", at, line))
		case said != nil:
			last = said[1]
			items[len(items)-1].said[last] = said[2]
		case last != "" && strings.HasPrefix(line, "   "):
			items[len(items)-1].said[last] += " " + strings.TrimSpace(line)
		default:
			wrong = append(wrong, fmt.Errorf("%s: want an id, or `rule:`, `why:` or `instead:`, got %q", at, line))
		}
	}
	return items, errors.Join(wrong...)
}

// checkAbsent refuses an item that says too little, that is there twice or as a scenario, and one that names a scenario
// that is not there.
func checkAbsent(items []*absent, all []*Scenario) error {
	var wrong []error
	seen := map[string]bool{}
	runs := func(id string) bool { return slices.ContainsFunc(all, func(s *Scenario) bool { return s.ID == id }) }
	for _, i := range items {
		for _, key := range []string{"rule", "why", "instead"} {
			if i.said[key] == "" {
				wrong = append(wrong, fmt.Errorf("%s: %s does not say %s", i.pos, i.id, key))
			}
		}
		if seen[i.id] || runs(i.id) {
			wrong = append(wrong, fmt.Errorf("%s: %s is there already", i.pos, i.id))
		}
		seen[i.id] = true
		for _, id := range namedID.FindAllString(i.said["instead"], -1) {
			if !runs(id) {
				wrong = append(wrong, fmt.Errorf("%s: %s: there is no scenario %s", i.pos, i.id, id))
			}
		}
	}
	return errors.Join(wrong...)
}
