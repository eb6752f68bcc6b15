package conformance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Scenario is one item of spec §10.
type Scenario struct {
	ID    string // C-001
	Title string
	pos

	setup    *setup
	commands []*command
	patience time.Duration // with what must come; 0 means the default
}

// A command is an act and what must be seen of it.
type command struct {
	pos
	text    string
	act     act
	watches []*watch
}

// pos is where something stands.
type pos struct {
	File string
	Line int
}

func (p pos) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Load reads the scenarios of a directory: every *.txt file, in the order of their names. Its error names every mistake
// with file, line and reason.
func Load(dir string) ([]*Scenario, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no scenario file (*.txt)", dir)
	}
	slices.Sort(files)
	var all []*Scenario
	var wrong []error
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		scenarios, err := Parse(f, string(data))
		all, wrong = append(all, scenarios...), append(wrong, err)
	}
	if err := errors.Join(append(wrong, unique(all), loadAbsent(dir, all))...); err != nil {
		return nil, err
	}
	return all, nil
}

// unique refuses ids that are there twice.
func unique(all []*Scenario) error {
	seen := map[string]pos{}
	var wrong []error
	for _, s := range all {
		if first, ok := seen[s.ID]; ok {
			wrong = append(wrong, fmt.Errorf("%s: %s is there already, at %s", s.pos, s.ID, first))
			continue
		}
		seen[s.ID] = s.pos
	}
	return errors.Join(wrong...)
}

// Parse reads the scenarios of one file.
func Parse(name, text string) ([]*Scenario, error) {
	if filepath.Base(name) == notApplicable {
		return nil, nil
	}
	p := &parser{file: name}
	for i, line := range strings.Split(text, "\n") {
		p.line = i + 1
		p.read(line)
	}
	p.endScenario()
	return p.all, errors.Join(p.wrong...)
}

type parser struct {
	file  string
	line  int
	all   []*Scenario
	now   *Scenario
	wrong []error
}

func (p *parser) pos() pos { return pos{p.file, p.line} }

func (p *parser) fail(at pos, err error) {
	if err != nil {
		p.wrong = append(p.wrong, fmt.Errorf("%s: %w", at, err))
	}
}

var title = regexp.MustCompile(`^# (C-\d+)(?:\s+(.*))?$`)

func (p *parser) read(line string) {
	if m := title.FindStringSubmatch(strings.TrimRight(line, " \t")); m != nil {
		p.endScenario()
		p.now = &Scenario{ID: m[1], Title: m[2], pos: p.pos(), setup: newSetup()}
		return
	}
	text := uncomment(line)
	indented := strings.HasPrefix(text, "  ") || strings.HasPrefix(text, "\t")
	text = strings.TrimSpace(text)
	switch {
	case text == "":
	case p.now == nil:
		p.fail(p.pos(), fmt.Errorf("a scenario begins with `# C-nnn  title`, got %q", text))
	case strings.HasPrefix(text, ">"):
		p.act(strings.TrimSpace(text[1:]))
	case indented:
		p.watch(text)
	case len(p.now.commands) > 0:
		p.fail(p.pos(), fmt.Errorf("the set-up comes before the first act; what must be seen is indented: %q", text))
	default:
		p.fail(p.pos(), p.now.setup.line(text))
	}
}

func (p *parser) act(text string) {
	a, err := p.now.setup.parseAct(text)
	p.fail(p.pos(), err)
	p.now.commands = append(p.now.commands, &command{pos: p.pos(), text: text, act: a})
}

func (p *parser) watch(text string) {
	if len(p.now.commands) == 0 {
		p.fail(p.pos(), fmt.Errorf("nothing was done yet that could be seen: %q", text))
		return
	}
	c := p.now.commands[len(p.now.commands)-1]
	if p.continues(c, text) {
		return
	}
	w, err := parseWatch(text)
	if err != nil {
		p.fail(p.pos(), err)
		return
	}
	w.pos, w.last = p.pos(), p.line
	c.watches = append(c.watches, w)
}

// continues takes a second line of a trace.
func (p *parser) continues(c *command, text string) bool {
	if len(c.watches) == 0 || !isTrace(text) {
		return false
	}
	last := c.watches[len(c.watches)-1]
	if last.key != "" || last.last != p.line-1 {
		return false
	}
	w, err := parseWatch(last.want + " " + text)
	if err != nil {
		p.fail(p.pos(), err)
		return true
	}
	w.pos, w.last = last.pos, p.line
	c.watches[len(c.watches)-1] = w
	return true
}

// endScenario checks the one that is complete now.
func (p *parser) endScenario() {
	s := p.now
	if p.now = nil; s == nil {
		return
	}
	p.all = append(p.all, s)
	n := 0
	for _, c := range s.commands {
		n += len(c.watches)
	}
	if n == 0 {
		p.fail(s.pos, fmt.Errorf("%s looks at nothing", s.ID))
	}
}
