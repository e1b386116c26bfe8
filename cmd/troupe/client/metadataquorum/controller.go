package metadataquorum

import (
	"path/filepath"
	"strconv"
	"strings"

	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// controller is what the file of a controller tells that is to become a voter.
type controller struct {
	id        int32
	directory model.UUID
	listeners []listener
}

type listener struct {
	name, host string
	port       uint16
}

const notAController = "Is this a valid controller configuration file?"

// controllerOf reads a server.properties, and the directory id from the directory that it names.
func controllerOf(props kafkatext.Properties) (*controller, error) {
	text, given := props["node.id"]
	if !given {
		return nil, option.Fail("node.id not found in configuration file. " + notAController)
	}
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, option.Fail("For input string: \"%s\"", text)
	}
	if id < 0 {
		return nil, option.Fail("node.id was negative in configuration file. " + notAController)
	}
	if !strings.Contains(props["process.roles"], "controller") {
		return nil, option.Fail("process.roles did not contain 'controller' in configuration file. " + notAController)
	}
	c := &controller{id: int32(id)}
	if c.directory, err = directoryID(props); err != nil {
		return nil, err
	}
	c.listeners, err = controllerListeners(props)
	return c, err
}

// directoryID looks where the metadata log is: in its own directory, else in the first of all.
func directoryID(props kafkatext.Properties) (model.UUID, error) {
	dir, given := props["metadata.log.dir"]
	if !given {
		if dir, given = props["log.dirs"]; !given {
			return model.UUID{}, option.Fail("Neither metadata.log.dir nor log.dirs were found. " + notAController)
		}
		dir, _, _ = strings.Cut(strings.TrimSpace(dir), ",")
	}
	meta, ok, err := checkpoint.ReadMetaProperties(vfs.OS(), filepath.Join(dir, "meta.properties"))
	switch {
	case err != nil:
		return model.UUID{}, err
	case !ok:
		return model.UUID{}, option.Fail("Unable to read meta.properties from %s", dir)
	case model.UUID(meta.DirectoryID).IsZero():
		return model.UUID{}, option.Fail("No directory id found in %s", dir)
	}
	return model.UUID(meta.DirectoryID), nil
}

// controllerListeners gives the listeners named for controllers, as they are advertised, or else as they are bound.
func controllerListeners(props kafkatext.Properties) ([]listener, error) {
	known := map[string]listener{}
	for _, key := range []string{"listeners", "advertised.listeners"} {
		for _, text := range strings.Split(props[key], ",") {
			if strings.TrimSpace(text) == "" {
				continue
			}
			l, ok := parseListener(strings.TrimSpace(text))
			if !ok {
				return nil, option.Fail("Unable to parse %s to a broker endpoint", strings.TrimSpace(text))
			}
			known[l.name] = l
		}
	}
	names, given := props["controller.listener.names"]
	if !given {
		return nil, option.Fail("controller.listener.names was not found. " + notAController)
	}
	var found []listener
	for _, name := range strings.Split(names, ",") {
		name = strings.ToUpper(strings.TrimSpace(name))
		l, ok := known[name]
		if !ok {
			return nil, option.Fail("Cannot find information about controller listener name: %s", name)
		}
		if l.host == "" {
			l.host = "localhost"
		}
		found = append(found, l)
	}
	return found, nil
}

// parseListener reads NAME://HOST:PORT; an IPv6 host has brackets, and an empty one is every address.
func parseListener(text string) (listener, bool) {
	name, address, found := strings.Cut(text, "://")
	colon := strings.LastIndexByte(address, ':')
	if !found || colon < 0 {
		return listener{}, false
	}
	port, err := strconv.ParseUint(address[colon+1:], 10, 16)
	return listener{strings.ToUpper(name), strings.Trim(address[:colon], "[]"), uint16(port)}, err == nil
}
