package broker

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
	"troupe/partitionlog/checkpoint"
)

// shortagesHeard stands for the lifecycle, which is told of the beginning and of the end.
type shortagesHeard struct{ over []bool }

func (h *shortagesHeard) Receive(_ *kit.Context, m kit.Message) {
	if told, ok := m.(*shortageTold); ok {
		h.over = append(h.over, told.over)
	}
}

// A disk is full for five minutes; a hundred logs try again each second. Then a topic goes, and they are written again.
func TestAFullDiskIsToldOfWhenItBeginsEachMinuteAndWhenItIsOver(t *testing.T) {
	var log transcript
	manual, order := clock.NewManual(time.Unix(1_700_000_000, 0)), kit.NewDeterministic(1)
	system := kit.NewSystem(kit.Options{Clock: manual, Dispatcher: order})
	b := &Broker{log: slog.New(slog.NewTextHandler(&log, nil))}
	heard := &shortagesHeard{}
	b.refs.lifecycle = system.Spawn("lifecycle", kit.Props{Kind: "lifecycle", New: func() kit.Behavior { return heard }})
	ref := system.Spawn("warden", kit.Props{Kind: "warden", New: func() kit.Behavior { return &warden{broker: b} }})
	env := partitionlog.NewEnv(vfs.NewCrashFS(1, manual), vfs.NewDescriptors(100))
	dir := disk.Open(system, env, "/data", model.DirectoryID{1}, disk.Lanes{}, ref)
	try := func(err error) {
		dir.BulkLane(model.TopicPartition{}).Send(&disk.Task{Name: "try", Do: func() error { return err }, Done: func(error) {}})
	}
	second := func(err error) {
		for range 100 {
			try(err)
		}
		order.Run(1 << 20)
		manual.Advance(time.Second)
		order.Run(1 << 20)
	}
	for range 300 {
		second(syscall.ENOSPC)
	}
	for range 150 {
		second(nil)
	}
	var got []string
	for _, line := range log.lines("log directory") {
		_, said, _ := strings.Cut(line, "level=")
		got = append(got, strings.TrimSpace(said))
	}
	want := []string{
		`ERROR msg="log directory has no room: what needs it is refused and tried again" dir=/data err="no space left on device"`,
		`WARN msg="log directory still has no room" dir=/data refused=6000 for=1m0s`,
		`WARN msg="log directory still has no room" dir=/data refused=12000 for=2m0s`,
		`WARN msg="log directory still has no room" dir=/data refused=18000 for=3m0s`,
		`WARN msg="log directory still has no room" dir=/data refused=24000 for=4m0s`,
		`WARN msg="log directory still has no room" dir=/data refused=30000 for=5m0s`,
		`INFO msg="log directory has room again" dir=/data refused=30000 for=7m0s`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Equal(heard.over, []bool{false, true}) {
		t.Errorf("the lifecycle hears %v", heard.over)
	}
}

func TestAMarkIsRemovedWhenAFailedDiskOfALivingBrokerComesBack(t *testing.T) {
	var log transcript
	manual, order := clock.NewManual(time.Unix(1_700_000_000, 0)), kit.NewDeterministic(1)
	system := kit.NewSystem(kit.Options{Clock: manual, Dispatcher: order})
	files := vfs.NewCrashFS(1, manual)
	mark := filepath.Join("/data", checkpoint.Era)
	if err := errors.Join(files.MkdirAll("/data", 0o755), checkpoint.NoteEra(files, mark)); err != nil {
		t.Fatal(err)
	}
	b := &Broker{log: slog.New(slog.NewTextHandler(&log, nil)), fs: files, failed: make(chan error, 1)}
	ref := system.Spawn("warden", kit.Props{Kind: "warden", New: func() kit.Behavior { return &warden{broker: b} }})
	dir := disk.Open(system, partitionlog.NewEnv(files, vfs.NewDescriptors(100)), "/data", model.DirectoryID{1}, disk.Lanes{}, ref)
	b.dirs = []*disk.Dir{dir}
	files.Hook(func(vfs.Call) vfs.Fault { return vfs.Fault{Err: syscall.EIO} })
	dir.BulkLane(model.TopicPartition{}).Send(&disk.Task{Name: "fail", Do: func() error { return syscall.EIO }, Done: func(error) {}})
	for _, s := range []struct {
		well, lasts bool
	}{{false, true}, {true, false}} {
		if s.well {
			files.Hook(nil)
		}
		order.Run(1 << 20)
		manual.Advance(time.Minute)
		order.Run(1 << 20)
		if lasts, err := checkpoint.EraLasts(files, mark); err != nil || lasts != s.lasts {
			t.Errorf("the disk is well: %v; the mark lasts: %v, %v", s.well, lasts, err)
		}
	}
}
