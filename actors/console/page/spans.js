// The model of what is watched: spans by trace, with work that several traces share.

const keptTraces = 500;

// micros reads a time of Go's (nanoseconds, which Date does not keep) as microseconds since a second of the page's
// choosing, so that nothing is rounded away.
let zero;
function micros(text) {
  const [, second, fraction = '', zone] = /^(.{19})(?:\.(\d+))?(.*)$/.exec(text);
  const at = Date.parse(second + zone);
  zero ??= at;
  return (at - zero) * 1000 + Number(fraction.padEnd(9, '0')) / 1000;
}

export class Spans {
  traces = new Map(); // by id, in order of their first span
  kinds = new Set();
  count = 0;
  dropped = 0;
  #served = new Map(); // trace id -> spans of other traces that did work for it

  clear() {
    this.traces.clear();
    this.#served.clear();
    this.count = this.dropped = 0;
  }

  add(line) {
    if (line.dropped) { this.dropped = line.dropped; return; }
    const s = {
      ...line, links: line.links ?? [], wall: Date.parse(line.started),
      enqueued: micros(line.enqueued), started: micros(line.started), ended: micros(line.ended),
    };
    this.count++;
    this.kinds.add(s.kind);
    this.#trace(s.trace).spans.push(s);
    for (const link of s.links) {
      if (link.trace === s.trace) continue;
      if (!this.#served.has(link.trace)) this.#served.set(link.trace, []);
      this.#served.get(link.trace).push(s);
    }
  }

  #trace(id) {
    let t = this.traces.get(id);
    if (!t) {
      this.traces.set(id, t = { id, spans: [] });
      if (this.traces.size > keptTraces) {
        const oldest = this.traces.keys().next().value;
        this.traces.delete(oldest);
        this.#served.delete(oldest);
      }
    }
    return t;
  }

  // find looks for a span by its id, in whatever trace.
  find(id) {
    for (const t of this.traces.values()) {
      const s = t.spans.find(o => o.span === id);
      if (s) return s;
    }
    return undefined;
  }

  // rows gives the spans of a trace as a tree walked in order: {span, level, shared}. Work done for several traces is
  // found in each of them, with what it led to.
  rows(t) {
    const guests = this.#served.get(t.id) ?? [];
    const own = new Set(t.spans.map(s => s.span));
    const causeOf = s => s.trace === t.id ? s.cause : s.links.find(l => l.trace === t.id)?.span;
    const children = new Map(), roots = [];
    const hang = (s, cause, shared) => {
      const node = { span: s, shared };
      const known = cause && (own.has(cause) || guests.some(g => g.span === cause));
      if (!known) { roots.push(node); return; }
      if (!children.has(cause)) children.set(cause, []);
      children.get(cause).push(node);
    };
    for (const s of t.spans) hang(s, causeOf(s), s.links.length > 1);
    for (const g of guests) hang(g, causeOf(g), true);
    const rows = [], seen = new Set();
    const walk = (node, level) => {
      if (seen.has(node.span.span)) return;
      seen.add(node.span.span);
      rows.push({ ...node, level });
      const below = children.get(node.span.span) ?? [];
      for (const s of node.shared ? this.#ledTo(node.span, own) : []) below.push({ span: s, shared: true });
      below.sort((a, b) => a.span.enqueued - b.span.enqueued);
      for (const b of below) walk(b, level + 1);
    };
    roots.sort((a, b) => a.span.enqueued - b.span.enqueued);
    for (const r of roots) walk(r, 0);
    return rows;
  }

  // ledTo gives what a guest span caused in its own trace.
  #ledTo(s, own) {
    if (own.has(s.span)) return [];
    return (this.traces.get(s.trace)?.spans ?? []).filter(o => o.cause === s.span);
  }
}

// rootOf is the span that began a trace, or the earliest that came.
export const rootOf = t => t.spans.find(s => !s.cause) ?? t.spans.reduce((a, b) => a.enqueued <= b.enqueued ? a : b);

// extent is from the first enqueuing to the last end of a trace's own spans.
export function extent(spans) {
  let from = Infinity, to = -Infinity;
  for (const s of spans) {
    from = Math.min(from, s.enqueued);
    to = Math.max(to, s.ended);
  }
  return { from, to, length: to - from };
}
