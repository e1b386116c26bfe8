// Troupe is one binary: the broker (`troupe start`) and the client commands, which are those of Kafka's scripts.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"troupe/cmd/troupe/client/apiversions"
	"troupe/cmd/troupe/client/cluster"
	"troupe/cmd/troupe/client/configs"
	"troupe/cmd/troupe/client/consume"
	"troupe/cmd/troupe/client/consumergroups"
	"troupe/cmd/troupe/client/consumerperf"
	"troupe/cmd/troupe/client/deleterecords"
	"troupe/cmd/troupe/client/dumplog"
	"troupe/cmd/troupe/client/e2elatency"
	"troupe/cmd/troupe/client/features"
	"troupe/cmd/troupe/client/groups"
	"troupe/cmd/troupe/client/leaderelection"
	"troupe/cmd/troupe/client/logdirs"
	"troupe/cmd/troupe/client/metadataquorum"
	"troupe/cmd/troupe/client/offsets"
	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/perf"
	"troupe/cmd/troupe/client/produce"
	"troupe/cmd/troupe/client/reassignpartitions"
	"troupe/cmd/troupe/client/rebalance"
	"troupe/cmd/troupe/client/replicaverification"
	"troupe/cmd/troupe/client/script"
	"troupe/cmd/troupe/client/storage"
	"troupe/cmd/troupe/client/topics"
	"troupe/cmd/troupe/client/verifiableconsumer"
	"troupe/cmd/troupe/client/verifiableproducer"
	"troupe/cmd/troupe/localcluster"
)

func main() {
	os.Exit(run(os.Args, option.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// commands makes all of them for each call, though one runs: their names must be known before options can be told from
// arguments (normalize), and the help is built from them.
func commands(s option.Streams) []*cobra.Command {
	return []*cobra.Command{
		startCommand(s),
		topics.Command(s),
		offsets.Command(s),
		produce.Command(s),
		consume.Command(s),
		perf.Command(s),
		consumerperf.Command(s),
		e2elatency.Command(s),
		verifiableproducer.Command(s),
		verifiableconsumer.Command(s),
		consumergroups.Command(s),
		groups.Command(s),
		configs.Command(s),
		leaderelection.Command(s),
		deleterecords.Command(s),
		logdirs.Command(s),
		apiversions.Command(s),
		clusterCommand(s),
		features.Command(s),
		metadataquorum.Command(s),
		reassignpartitions.Command(s),
		rebalance.Command(s),
		replicaverification.Command(s),
		dumplog.Command(s),
		storage.Command(s),
		script.Install(s),
		script.Stop(s),
	}
}

// clusterCommand is kafka-cluster, which runs a cluster of this machine's own when it is asked for nodes.
func clusterCommand(s option.Streams) *cobra.Command {
	c := cluster.Command(s)
	localcluster.Attach(c, s)
	return c
}

// run executes one command line and gives its exit code: 1 after a failure, 128 + the signal after an interrupt.
func run(args []string, s option.Streams) int {
	root := &cobra.Command{
		Use: "troupe", Short: "A Kafka-compatible broker made of actors, and its client commands",
		Version: version(), SilenceUsage: true, SilenceErrors: true,
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	// A "completion" command would stand between the scripts' names in the help.
	root.CompletionOptions.DisableDefaultCmd = true
	// The name the binary was called by comes first: kafka-topics.sh is a link to it and means "troupe topics".
	line, err := script.Read(args)
	if err != nil {
		return exitCode(err, s)
	}
	s.Args = line.Args[min(1, len(line.Args)):]
	root.AddCommand(commands(s)...)
	root.SetArgs(normalize(root, line.Args))
	if line.Daemon {
		return exitCode(script.Background(args[0], line.Args), s)
	}
	ctx, interrupted := interruptible()
	executed, err := root.ExecuteContextC(ctx)
	// A broker or a cluster that a signal stopped in order did what it was told.
	if caught := interrupted(); caught != 0 && executed.Name() != "start" && executed.Name() != "cluster" {
		return 128 + int(caught)
	}
	return exitCode(err, s)
}

// exitCode is the one place where errors of commands are printed. One that is no Failure ends the process with 1 and its
// text, as an uncaught exception ends a script.
func exitCode(err error, s option.Streams) int {
	var failure *option.Failure
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &failure):
		failure = &option.Failure{Code: 1, Line: err.Error()}
	}
	if failure.Line != "" {
		fmt.Fprintln(s.Err, failure.Line)
	}
	return failure.Code
}

// normalize rewrites the options of a command line for pflag: those before a script's own command first, so that it is
// found behind them.
func normalize(root *cobra.Command, line []string) []string {
	for _, command := range root.Commands() {
		if len(line) > 0 && command.Name() == line[0] {
			line = append([]string{line[0]}, option.Normalize(command.PersistentFlags(), line[1:])...)
		}
	}
	command, rest, err := root.Find(line)
	if err != nil || command == root {
		return line
	}
	command.InheritedFlags() // merges them into Flags
	// cobra is given the whole path again, because Find has taken it off.
	path := strings.Fields(command.CommandPath())[1:]
	return append(path, option.Normalize(command.Flags(), rest)...)
}

// sameSignal is how long a signal may come again and count as one.
const sameSignal = 300 * time.Millisecond

// interruptible gives a context that ends at the first SIGINT or SIGTERM, and a function that stops waiting for one and
// tells the signal there was (0: none). A second signal ends the process at once, unless it comes with the first: timeout(1)
// sends its signal to the process and to the process's group, and a consumer is to commit and leave its group all the same.
func interruptible() (context.Context, func() syscall.Signal) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case got := <-signals:
			cancel(signalled{got.(syscall.Signal)})
			time.Sleep(sameSignal)
			signal.Stop(signals)
		case <-ctx.Done():
		}
	}()
	return ctx, func() syscall.Signal {
		signal.Stop(signals)
		cancel(nil) // has no effect after a signal
		var by signalled
		if errors.As(context.Cause(ctx), &by) {
			return by.Signal
		}
		return 0
	}
}

// signalled is the cause of a context that a signal ended, so that nobody has to remember the signal apart from it.
type signalled struct{ syscall.Signal }

func (s signalled) Error() string { return s.String() }
