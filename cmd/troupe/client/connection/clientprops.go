package connection

import (
	"fmt"

	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// ClientProperties are the ways the console scripts take properties of their client: a file and single pairs, each
// under a new name and under the old one, of which only one may be used.
// The names changed in 4.2 and the old ones go in 5.0 (KIP-1147).
type ClientProperties struct {
	file, oldFile, pairs, oldPairs option.Text
	role                           string
	warning                        string
}

// Define adds --command-config, --command-property and the old role.config and role-property. warning begins the line
// on standard output that says an old name was used.
func (p *ClientProperties) Define(fs *pflag.FlagSet, role, warning string) {
	p.role, p.warning = role, warning
	option.Var(fs, &p.file, "command-config", "FILE", "property file for the "+role)
	option.Var(fs, &p.pairs, "command-property", "KEY=VALUE", role+" property, repeatable; goes over the file")
	option.Var(fs, &p.oldFile, role+".config", "FILE", "old name of --command-config")
	option.Var(fs, &p.oldPairs, role+"-property", "KEY=VALUE", "old name of --command-property")
}

// CheckOnce refuses both names of one option. pairsFirst is the order the script checks in.
func (p *ClientProperties) CheckOnce(pairsFirst bool) error {
	fileClash := p.file.Given() && p.oldFile.Given()
	pairsClash := p.pairs.Given() && p.oldPairs.Given()
	switch {
	case pairsClash && (pairsFirst || !fileClash):
		// The two scripts also name the options in different orders.
		if pairsFirst {
			return option.Fail("Options --%s-property and --command-property cannot be specified together.", p.role)
		}
		return option.Fail("Options --command-property and --%s-property cannot be specified together.", p.role)
	case fileClash && pairsFirst:
		return option.Fail("Options --%s.config and --command-config cannot be specified together.", p.role)
	case fileClash:
		return option.Fail("Options --command-config and --%s.config cannot be specified together.", p.role)
	}
	return nil
}

// Warn tells on standard output which old names were used.
func (p *ClientProperties) Warn(s option.Streams) {
	if p.oldPairs.Given() {
		fmt.Fprintf(s.Out, "%s --%s-property is deprecated and will be removed in a future version. Use --command-property instead.\n", p.warning, p.role)
	}
	if p.oldFile.Given() {
		fmt.Fprintf(s.Out, "%s --%s.config is deprecated and will be removed in a future version. Use --command-config instead.\n", p.warning, p.role)
	}
}

// Load gives the file's properties with the pairs over them.
func (p *ClientProperties) Load() (kafkatext.Properties, error) {
	props, err := PropertyFile(&p.file, &p.oldFile)
	if err != nil {
		return nil, err
	}
	// A pair goes over the file, as a command line goes over what it refers to.
	props.Merge(kafkatext.Pairs(p.pairs.All()))
	props.Merge(kafkatext.Pairs(p.oldPairs.All()))
	return props, nil
}

// PropertyFile loads the file that an option names, under its present name or a former one; without any it is empty.
func PropertyFile(names ...*option.Text) (kafkatext.Properties, error) {
	props := kafkatext.Properties{}
	for _, name := range names {
		path, err := name.One()
		if err != nil {
			return nil, err
		}
		if path == "" {
			continue
		}
		if props, err = kafkatext.Load(path); err != nil {
			return nil, err
		}
	}
	return props, nil
}
