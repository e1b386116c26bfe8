package configs

import (
	"slices"
	"strings"
)

// cordonedKey names log directories that take no new replicas (KIP-1066), or all of them by everyDir. It is the one key of a
// single broker that acts while that broker runs.
const (
	cordonedKey = "cordoned.log.dirs"
	everyDir    = "*"
)

// cordon gives those of the directories that a list names, and what is wrong with the list, in Kafka's words.
func cordon(list, dirs []string) (cordoned []string, fault string) {
	if slices.Contains(list, everyDir) {
		if len(list) > 1 {
			fault = "When cordoned.log.dirs is set to *, it must not contain other values"
		}
		return dirs, fault
	}
	var missing []string
	for _, d := range list {
		if slices.Contains(dirs, d) {
			cordoned = append(cordoned, d)
		} else {
			missing = append(missing, d)
		}
	}
	if len(missing) > 0 {
		fault = "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : " + strings.Join(missing, ", ")
	}
	return cordoned, fault
}

// CheckCordon judges changes of this broker's dynamic configuration by its log directories, which no other node knows.
func (l Layers) CheckCordon(changes []Change) error {
	key, next, concerned := brokerKeys()[cordonedKey], cloned(l.Broker), false
	for _, c := range changes {
		if c.Key == cordonedKey {
			concerned = true
			apply(next, c, key.Default)
		}
	}
	if value, set := next[cordonedKey]; concerned && set {
		if _, fault := cordon(splitList(strings.TrimSpace(value)), l.dirs()); fault != "" {
			return invalidRequest("requirement failed: %s", fault)
		}
	}
	return nil
}

// dirs is log.dirs, or log.dir where it does not say.
func (l Layers) dirs() []string {
	if list := l.list("log.dirs"); len(list) > 0 {
		return list
	}
	return l.list("log.dir")
}

// resolveCordon refuses a file with directories that there are not. What was set dynamically may be from before log.dirs was
// changed, or be of another broker: the controller judges it by its own directories.
func (l Layers) resolveCordon(b *Broker) error {
	cordoned, fault := cordon(b.CordonedDirs, b.LogDirs)
	if _, from := l.text(cordonedKey); fault != "" && from == StaticSource {
		return l.wrong(cordonedKey, "%s", fault)
	}
	b.CordonedDirs = cordoned
	return nil
}
