package fetcher

import "time"

func (m *machine) throttled(p *part) bool {
	return p.handle.Config().FollowerThrottled.Has(p.handle.TP.Partition, m.self)
}

// lags tells that a partition lacks something of what is committed, as far as this fetcher has heard. Of one that does not the
// quota holds nothing back, or it would leave its ISR (KIP-73).
func (p *part) lags() bool { return p.highWatermark < 0 || p.highWatermark > p.Offset }

// holdBack has throttled partitions rest while the quota is exceeded. It looks at all of them then, and at none otherwise.
func (m *machine) holdBack(now time.Time) {
	until, exceeded := m.quota.Exceeded(now)
	if !exceeded || m.flying {
		return
	}
	for _, p := range m.parts { // any order: they are sorted when they are named
		if p.state == ready && p.lags() && m.throttled(p) {
			p.state, p.until = resting, until
			m.rested = append(m.rested, p)
			m.list(p)
		}
	}
}
