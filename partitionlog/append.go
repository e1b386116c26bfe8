package partitionlog

import "sync"

// RunAppends runs append jobs of any logs, each log's in the order they were staged, with one vectored write for those
// that follow each other in a file. The result is parallel to jobs. A write that fails fails every later append of its log.
func RunAppends(jobs []*Job) []error {
	// Neighbours are linked through their segments, whose appends all run on one lane: no map, no sorting.
	errs := make([]error, len(jobs))
	scratch := scratches.Get().(*scratch)
	for i, j := range jobs {
		j.index = i
		if before := j.seg.lane; before != nil {
			before.next = j
		} else {
			scratch.heads = append(scratch.heads, j)
		}
		j.seg.lane = j
	}
	for _, head := range scratch.heads {
		head.seg.lane = nil
		scratch.write(head, errs)
	}
	clear(scratch.heads)
	scratch.heads = scratch.heads[:0]
	scratches.Put(scratch)
	return errs
}

type scratch struct {
	heads []*Job
	bufs  [][]byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// write writes a chain of appends to one file. A marker's entry in the transaction index is written before the marker
// counts as written: from then on read_committed readers pass it and must find the entry.
func (s *scratch) write(head *Job, errs []error) {
	done, err := s.writeData(head)
	for j := head; j != nil; {
		// A batch that is wholly in the file counts, also when the write failed further on.
		done -= int64(len(j.data))
		if done >= 0 && j.txn != nil && errs[j.index] == nil {
			if txnErr := j.txn.write(j.seg); txnErr != nil {
				j.log.set(txnErr)
				done, err = -1, txnErr
			}
		}
		if done < 0 {
			errs[j.index] = err
		}
		next := j.next
		j.next = nil
		j = next
	}
}

// writeData tells how many bytes are in the file; fewer than those of the chain go with an error.
func (s *scratch) writeData(head *Job) (int64, error) {
	// Behind a write that failed there is a hole, which no recovery passes.
	if err := head.log.get(); err != nil {
		return 0, err
	}
	n, err := s.writeFile(head)
	if err != nil {
		head.log.set(err)
	}
	return n, err
}

func (s *scratch) writeFile(head *Job) (int64, error) {
	u := useAppend
	if head.first {
		u = useCreate
		if err := head.seg.file.dir.prepare(); err != nil {
			return 0, err
		}
	}
	f, err := head.seg.file.pin(u)
	if err != nil {
		return 0, err
	}
	defer head.seg.file.unpin()
	if head.first && head.room > 0 {
		if err := f.Allocate(head.room); err != nil {
			return 0, err
		}
	}
	if head.next == nil {
		n, err := f.WriteAt(head.data, head.pos)
		return int64(n), err
	}
	bufs := s.bufs[:0]
	for j := head; j != nil; j = j.next {
		bufs = append(bufs, j.data)
	}
	s.bufs = bufs[:0]
	defer clear(bufs)
	return f.WriteVectorAt(bufs, head.pos)
}
