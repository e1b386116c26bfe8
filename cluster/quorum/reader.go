package quorum

import "troupe/codec/batch"

// Reader turns batches of the log into what a node replays that does not vote: it copies the log as far as it is committed,
// and has no raft.
type Reader struct {
	// voters is the set at the end of what was read.
	voters []batch.Voter
}

// Votes tells whether this node is a voter by the log as it is on disk, committed or not.
func (r *Restorer) Votes() bool { return findVoter(r.latest, r.options.Self) >= 0 }

// Observe gives a reader in place of a machine, and the entries behind the checkpoint.
func (r *Restorer) Observe() (*Reader, []Entry, error) {
	entries := make([]Entry, 0, len(r.storage.entries))
	for _, e := range r.storage.entries {
		entry, err := committed(e)
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, entry)
	}
	return &Reader{voters: r.latest}, entries, nil
}

// Voters is the set at the end of what was read; of a log that began with no checkpoint, nobody.
func (r *Reader) Voters() []batch.Voter { return r.voters }

// Read gives the entries of the next batch. After an error nothing of it was read.
func (r *Reader) Read(v batch.View) ([]Entry, error) {
	voters := r.voters
	raw, err := entriesOf(v, &voters)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(raw))
	for i, e := range raw {
		if entries[i], err = committed(e); err != nil {
			return nil, err
		}
	}
	r.voters = voters
	return entries, nil
}
