package coordinator

import "troupe/actors/kit"

// Look has a function read the machine of a partition, on the goroutine of its actor: what is committed, for metrics. The
// function changes nothing and keeps nothing that the machine may change. The answer is false, without a call, while the
// partition is being loaded; an error says that its coordinator does not run here.
type Look struct {
	*kit.Reply[bool]
	Read func(Machine)
}

// MessageKind is part of kit.Message.
func (*Look) MessageKind() string { return "coordinator.look" }

// Look passes a look to the coordinator of a partition; one that does not run here fails it.
func (d *Directory) Look(partition int32, l *Look) {
	d.mu.RLock()
	ref := d.refs[partition]
	d.mu.RUnlock()
	if ref.IsZero() {
		l.Fail(kit.ErrStopped)
		return
	}
	ref.Send(l)
}

func (p *partition) look(l *Look) {
	if p.machine != nil {
		l.Read(p.machine)
	}
	l.Give(p.machine != nil)
}
