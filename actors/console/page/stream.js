// The page reads at most this much of the time; the rest is for drawing and for the reader's clicks. A broker that
// sends more loses spans for this stream, and says so in it.
const readFor = 8, restFor = 24; // ms

// Stream reads lines of JSON for as long as the broker sends them.
export class Stream {
  #stop = new AbortController();

  // Each line goes to take; ended is told why it is over, with nothing when this side stopped it.
  constructor(path, take, ended) {
    this.#run(path, take).then(() => ended(''), problem => ended(this.#stop.signal.aborted ? undefined : problem.message));
  }

  stop() { this.#stop.abort(); }

  async #run(path, take) {
    const reply = await fetch(path, { signal: this.#stop.signal, cache: 'no-store' });
    if (!reply.ok) throw new Error(await reply.text());
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '', until = performance.now() + readFor;
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        take(JSON.parse(line));
        if (performance.now() < until) continue;
        await new Promise(rested => setTimeout(rested, restFor));
        until = performance.now() + readFor;
      }
    }
  }
}
