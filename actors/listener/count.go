package listener

// Count gives the open connections by the name of their listener, and how many were ever accepted on any.
func (d *Deps) Count() (open map[string]int, accepted uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	open = make(map[string]int)
	for c := range d.open {
		open[c.client.Listener]++
	}
	return open, d.ids.Load()
}
