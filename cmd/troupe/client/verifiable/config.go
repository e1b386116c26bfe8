package verifiable

import (
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// Config is the property file of the client, under its present name and under the one that goes in 5.0 (KIP-1147).
type Config struct {
	file, former option.Text
	script, role string
}

// Define adds --command-config and the former ROLE.config.
func (c *Config) Define(fs *pflag.FlagSet, script, role, precedence string) {
	c.script, c.role = script, role
	option.Var(fs, &c.file, "command-config", "FILE", "property file for the "+role+"; "+precedence)
	option.Var(fs, &c.former, role+".config", "FILE", "old name of --command-config")
}

// CheckOnce refuses both names at once.
func (c *Config) CheckOnce() error {
	if c.file.Given() && c.former.Given() {
		return option.Misuse(c.script, "Options --%s.config and --command-config are mutually exclusive.", c.role)
	}
	return nil
}

// Load reads the file, empty where none is named. One that cannot be read is named and no more, as the scripts do.
func (c *Config) Load(s option.Streams) (kafkatext.Properties, error) {
	if c.former.Given() {
		s.Deprecated(c.role+".config", "command-config")
	}
	path := c.file.Last() + c.former.Last()
	if path == "" {
		return kafkatext.Properties{}, nil
	}
	props, err := kafkatext.Load(path)
	if err != nil {
		return nil, option.Misuse(c.script, "%s", path)
	}
	return props, nil
}
