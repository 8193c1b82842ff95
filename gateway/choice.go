package gateway

import (
	"slices"
	"strconv"
	"strings"

	"gatehouse/executors"
)

// executorSetting is the setting by which a session chooses where its statements run.
const executorSetting = "executor"

// choices are the values that a session may give it, the initial one first.
func choices(x executors.Executor) []string {
	if c, ok := x.(executors.Chooser); ok {
		return c.Choices()
	}
	return []string{x.Capabilities().Name}
}

// executor is what runs the statements of r's session.
func (r *run) executor() executors.Executor {
	c, ok := r.g.cfg.Executor.(executors.Chooser)
	if name := r.session.chosen(); ok && name != "" {
		if x, ok := c.Choose(name); ok {
			return x
		}
	}
	return r.g.cfg.Executor
}

// chosen is the executor that the session has chosen, or "".
func (s *Session) chosen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings[executorSetting]
}

// mayChoose checks a value of the setting.
func (s *Session) mayChoose(name string) error {
	if slices.Contains(s.choices, name) {
		return nil
	}
	quoted := make([]string, len(s.choices))
	for i, c := range s.choices {
		quoted[i] = strconv.Quote(c)
	}
	return &SettingError{Name: executorSetting, Why: "can only be " + strings.Join(quoted, " or ") + " on this server"}
}
