package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"troupe/actors/broker"
	"troupe/cmd/troupe/client/option"
	"troupe/configs"
)

// startCommand runs a broker until a signal stops it: the first one in order, a second one at once.
func startCommand(s option.Streams) *cobra.Command {
	var file, nodeID string
	var set []string
	c := &cobra.Command{
		Use:   "start [FILE]",
		Short: "Run a broker",
		Long: "Runs a broker: alone with an embedded default when no file is given, else as the file says.\n" +
			"Keys are Kafka's own. A value comes from, in rising order: the default, the file, TROUPE_… variables, --set.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			// A bare file is how kafka-server-start.sh is called; init scripts that do so go on working.
			if len(args) == 1 {
				if file != "" {
					return option.Fail("troupe: two configuration files are given: %s and %s", file, args[0])
				}
				file = args[0]
			}
			if nodeID != "" {
				set = append(set, "node.id="+nodeID)
			}
			return start(c.Context(), s, configs.Options{File: file, Environment: os.Environ(), Set: set})
		},
	}
	c.Flags().StringVar(&file, "config", "", "configuration: YAML, or a server.properties of Kafka")
	c.Flags().StringArrayVar(&set, "set", nil, "key=value over the file and the environment; repeatable")
	c.Flags().StringVar(&nodeID, "node-id", "", "the number of this node, where one file serves several: short for --set node.id=NUMBER")
	c.Flags().StringArrayVar(&set, "override", nil, "the same, under its name in kafka-server-start.sh")
	return c
}

// start runs until the signal or until the broker gives up. What the operator has to act on goes to standard error as
// log lines; the one line on standard output is for programs that wait for the broker to be ready.
func start(ctx context.Context, s option.Streams, o configs.Options) error {
	began := time.Now()
	loaded, err := configs.Load(o)
	if err != nil {
		return complaint(err)
	}
	log := logger(s.Err, loaded.Broker.Output)
	tellUnused(log, loaded.Unused)
	if loaded.Embedded {
		log.Info(embeddedLine(&loaded.Broker), "data", strings.Join(loaded.Broker.LogDirs, ","))
	}
	// Before the broker allocates anything, and after the configuration, whose errors need no tuning.
	tune()
	b, err := broker.Start(ctx, broker.Options{Config: loaded, Log: log})
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		log.Info("stopped before it served", "signal", context.Cause(ctx))
		return nil
	case err != nil:
		return complaint(err)
	}
	if o := b.Opened(); o.ScannedBytes+o.TruncatedBytes > 0 || o.Failures > 0 {
		log.Warn("logs were checked, since the last stop was not in order", "logs", o.Logs, "unusable", o.Failures,
			"scanned_bytes", o.ScannedBytes, "cut_off_bytes", o.TruncatedBytes)
	}
	fmt.Fprintln(s.Out, b.Ready(time.Since(began)))
	relaxCollector()
	forgetStart()
	var failure error
	select {
	case <-ctx.Done():
		log.Info("stopping", "signal", context.Cause(ctx))
	case failure = <-b.Failed():
		log.Error("the broker cannot go on", "err", failure)
	}
	return stop(b, log, loaded.Broker.ShutdownTimeout, failure)
}

// embeddedLine says what a start without a file is: settings may have made the lone node one of several.
func embeddedLine(b *configs.Broker) string {
	alone := b.Roles == configs.Roles{Broker: true, Controller: true} && len(b.Quorum.Voters) < 2 && (len(b.Quorum.Voters) == 1 || b.Quorum.InitialVoters == 1)
	if alone {
		return "no configuration file given: running alone with the embedded default"
	}
	return "no configuration file given: the embedded default under the settings that are"
}

// complaint says who speaks before each line of an error: several mistakes of a configuration are several lines, and they
// end up in logs beside those of others.
func complaint(err error) error {
	return &option.Failure{Code: 1, Line: "troupe: " + strings.ReplaceAll(err.Error(), "\n", "\ntroupe: ")}
}

// tellUnused names the keys that are accepted without effect at each start, in one line: who relies on one must not
// believe that it acts. Those that stand at Kafka's default, as in the files that Kafka ships, ask for nothing else.
func tellUnused(log *slog.Logger, unused []configs.Unused) {
	var keys []string
	for _, u := range unused {
		log.Debug("configuration key has no effect", "key", u.Key, "from", u.Origin, "reason", u.Reason)
		if !u.AsDefault {
			keys = append(keys, u.Key)
		}
	}
	if len(keys) > 0 {
		log.Warn("configuration keys have no effect (reasons: docs/configs.md, or log.level=debug)", "keys", strings.Join(keys, ","))
	}
}

// stop shuts down within the time allowed. A second signal has ended the process by then.
func stop(b *broker.Broker, log *slog.Logger, within time.Duration, failure error) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	began := time.Now()
	err := b.Stop(ctx)
	switch {
	// What made the broker give up matters more than how its stop went.
	case failure != nil:
		return &option.Failure{Code: 1, Line: "troupe: " + failure.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return &option.Failure{Code: 1, Line: fmt.Sprintf("troupe: not stopped in order within %s (shutdown.timeout.ms); the next start recovers the logs", within)}
	case err != nil:
		return &option.Failure{Code: 1, Line: "troupe: " + err.Error()}
	}
	log.Info("stopped", "took", time.Since(began).Round(time.Millisecond).String()) // JSON would have nanoseconds
	return nil
}

// logger writes what the keys log.level and log.format say. It is text by default: a person reads the first start.
func logger(w io.Writer, o configs.Output) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.Level)); err != nil {
		level = slog.LevelInfo // the configuration allows only levels
	}
	options := &slog.HandlerOptions{Level: level}
	if o.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
