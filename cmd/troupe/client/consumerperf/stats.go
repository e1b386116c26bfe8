package consumerperf

import (
	"fmt"
	"strings"
	"time"

	"troupe/cmd/troupe/client/kafkatext"
)

// volume is how much was read: bytes are of keys and values.
type volume struct{ records, bytes int64 }

func (v volume) megabytes() float64 { return float64(v.bytes) / (1 << 20) }

// header names the columns of line or of detail.
func header(detailed bool) string {
	first := "start.time, end.time"
	if detailed {
		first = "time, threadId"
	}
	return first + ", data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
}

// summary is the last line, and -o json. Fetching is what is left of the time without rebalancing.
type summary struct {
	Began       time.Time `json:"startTime"`
	Ended       time.Time `json:"endTime"`
	MB          float64   `json:"dataConsumedMB"`
	MBPerSec    float64   `json:"mbPerSec"`
	Records     int64     `json:"records"`
	PerSec      float64   `json:"recordsPerSec"`
	RebalanceMs int64     `json:"rebalanceTimeMs"`
	FetchMs     int64     `json:"fetchTimeMs"`
	FetchMBSec  float64   `json:"fetchMBPerSec"`
	FetchPerSec float64   `json:"fetchRecordsPerSec"`
}

// newSummary reckons in whole milliseconds, as the script does. A run shorter than one counts as one, where the script
// prints infinities, which JSON does not have.
func newSummary(began, ended time.Time, read volume, rebalanceMs int64) summary {
	elapsed := max(ended.UnixMilli()-began.UnixMilli(), 1) // whole milliseconds, as the script's; JSON knows no infinity
	fetch := max(elapsed-rebalanceMs, 1)
	seconds, fetchSeconds := float64(elapsed)/1000, float64(fetch)/1000
	return summary{
		Began: began, Ended: ended, MB: read.megabytes(), MBPerSec: read.megabytes() / seconds,
		Records: read.records, PerSec: float64(read.records) / seconds, RebalanceMs: rebalanceMs, FetchMs: fetch,
		FetchMBSec: read.megabytes() / fetchSeconds, FetchPerSec: float64(read.records) / fetchSeconds,
	}
}

// line is the script's only line without --show-detailed-stats, in the order of header.
func (t summary) line(date func(time.Time) string) string {
	return strings.Join([]string{
		date(t.Began), date(t.Ended), fixed(t.MB), fixed(t.MBPerSec), fmt.Sprint(t.Records), fixed(t.PerSec),
		fmt.Sprint(t.RebalanceMs), fmt.Sprint(t.FetchMs), fixed(t.FetchMBSec), fixed(t.FetchPerSec),
	}, ", ")
}

// detail is a line of --show-detailed-stats: totals, and rates since the line before. The thread is always 0: the script
// once had several.
func detail(all, before volume, since, now time.Time, rebalanceMs int64, date func(time.Time) string) string {
	elapsed := float64(now.UnixMilli() - since.UnixMilli())
	part := volume{all.records - before.records, all.bytes - before.bytes}
	rates := func(ms float64) (string, string) {
		return fixed(1000 * part.megabytes() / ms), fixed(1000 * float64(part.records) / ms)
	}
	mb, records := rates(elapsed)
	fetch := int64(elapsed) - rebalanceMs
	fetchMB, fetchRecords := "0.0000", "0.0000" // all of the time was a rebalance
	if fetch > 0 {
		fetchMB, fetchRecords = rates(float64(fetch))
	}
	return strings.Join([]string{
		date(now), "0", fixed(all.megabytes()), mb, fmt.Sprint(all.records), records,
		fmt.Sprint(rebalanceMs), fmt.Sprint(fetch), fetchMB, fetchRecords,
	}, ", ")
}

func fixed(v float64) string { return kafkatext.Fixed(v, 4) }
