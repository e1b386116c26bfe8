import { showWarnings } from './cluster.js';
import { byId, el, setText, table } from './dom.js';
import { bytes, duration, millis, number, short, span } from './format.js';
import { every, get, Rates } from './poll.js';
import { Card } from './spark.js';

const states = { 1: 'starting', 2: 'recovering logs', 3: 'running', 6: 'leaving', 7: 'shutting down' };
const perSecond = v => short(v) + '/s';
const rate = v => v === undefined ? '–' : short(v);

const cards = {
  records: new Card('Records in', perSecond),
  bytesIn: new Card('Bytes in', v => bytes(v) + '/s'),
  bytesOut: new Card('Bytes out', v => bytes(v) + '/s'),
  requests: new Card('Requests', perSecond),
  produce: new Card('Produce p99', millis),
  depth: new Card('Messages waiting', number),
};

export function startOverview(seen) {
  byId('cards').append(...Object.values(cards).map(c => c.node));
  const rates = new Rates();
  const tables = makeTables(rates);
  for (const [id, t] of Object.entries(tables)) byId(id).append(t.node);
  // The sparklines and the facts at the top go on while another view is shown.
  const read = every(1000, () => true, async () => {
    const o = await get('overview');
    if (!o) return;
    rates.begin(o.at);
    feed(o, rates);
    facts(o);
    showWarnings(o.warnings);
    if (!seen()) return;
    tables.requests.show(o.requests);
    tables.kinds.show(o.kinds);
    tables.directories.show(o.directories);
    byId('gossip').hidden = !o.members;
    tables.members.show(o.members ?? []);
    process(o);
  });
  return { shown: read };
}

function feed(o, rates) {
  const all = o.requests.reduce((n, r) => n + r.count, 0);
  cards.records.push(rates.of('records', o.traffic.messagesIn));
  cards.bytesIn.push(rates.of('in', o.traffic.bytesIn));
  cards.bytesOut.push(rates.of('out', o.traffic.bytesOut));
  cards.requests.push(rates.of('requests', all));
  cards.produce.push(o.requests.find(r => r.name === 'Produce')?.p99 ?? 0);
  cards.depth.push(o.kinds.reduce((n, k) => n + k.depth, 0));
}

function makeTables(rates) {
  const mean = (name, count, sum) => {
    const n = rates.of(name + ' count', count), s = rates.of(name + ' sum', sum);
    return n ? duration(s / n * 1e6) : '–';
  };
  return {
    requests: table('Requests by API', [
      { title: 'API', cell: r => r.name, class: 'strong' },
      { title: 'answered', number: true, cell: r => number(r.count) },
      { title: '/s', number: true, cell: r => rate(rates.of('request ' + r.name, r.count)) },
      { title: 'p50', number: true, cell: r => millis(r.p50) },
      { title: 'p99', number: true, cell: r => millis(r.p99) },
      { title: 'max', number: true, cell: r => millis(r.max) },
    ], r => r.name),
    kinds: table('Actors by kind', [
      { title: 'kind', cell: k => k.kind, class: 'strong' },
      { title: 'actors', number: true, cell: k => number(k.actors) },
      { title: 'waiting', number: true, cell: k => number(k.depth) },
      { title: 'handled/s', number: true, cell: k => rate(rates.of('handled ' + k.kind, k.handled)) },
      { title: 'queueing', number: true, cell: k => mean('q ' + k.kind, k.queueingCount, k.queueingSum) },
      { title: 'handling', number: true, cell: k => mean('h ' + k.kind, k.handlingCount, k.handlingSum) },
      { title: 'restarts', number: true, cell: k => k.restarts ? el('span', { class: 'warn' }, number(k.restarts)) : '0' },
    ], k => k.kind),
    directories: table('Log directories', [
      { title: 'directory', cell: d => d.path, class: 'mono' },
      { title: 'state', cell: d => el('span', { class: d.error ? 'bad' : 'good' }, d.error || 'healthy') },
      { title: 'size', number: true, cell: d => bytes(d.size) },
      { title: 'writes/s', number: true, cell: d => rate(rates.of('w ' + d.path, d.writes)) },
      { title: 'mean write', number: true, cell: d => millis(d.writeMs) },
      { title: 'fsyncs', number: true, cell: d => number(d.flushes) },
      { title: 'mean fsync', number: true, cell: d => millis(d.flushMs) },
    ], d => d.path),
    members: table('Other nodes, by gossip', [
      { title: 'node', number: true, cell: m => String(m.node), class: 'strong' },
      { title: 'address', cell: m => m.address, class: 'mono' },
      { title: 'rack', cell: m => m.rack ?? '–' },
      { title: 'state', cell: m => el('span', { class: m.state === 'alive' ? 'good' : 'warn' }, m.state) },
      { title: 'for', number: true, cell: m => span(m.sinceMs) },
    ], m => m.node),
  };
}

function facts(o) {
  const state = o.waiting && o.state < 3 ? o.waiting : states[o.state] ?? 'unknown';
  const list = [
    ['state', state, o.state === 3 ? 'good' : 'warn'], ['node', `node ${o.node}`], ['cluster', o.cluster], ['up', `up ${span(o.upMs)}`],
  ];
  const box = byId('facts');
  for (const [key, text, tone] of list) {
    let chip = box.querySelector(`[data-fact=${key}]`);
    if (!chip) box.append(chip = el('span', { 'data-fact': key }));
    chip.className = `chip ${tone ?? ''}`;
    setText(chip, text);
  }
  // Seconds that pass are no news to a screen reader.
  box.querySelector('[data-fact=up]').setAttribute('aria-hidden', 'true');
  document.title = `Troupe · node ${o.node}`;
}

function process(o) {
  const rows = [
    ['Connections', o.listeners.map(l => `${l.name} ${number(l.connections)}`).join(', ')],
    ['Fetch sessions', number(o.sessions)],
    ['Bytes in flight', bytes(o.inFlight)],
    ['Topics, partitions', `${number(o.topics)}, ${number(o.partitions)}`],
    ['Records refused or failed', `${bytes(o.traffic.rejected)} refused, ${number(o.traffic.failed)} failed`],
    ['Memory of the runtime', bytes(o.memory)],
    ['Goroutines, CPUs', `${number(o.goroutines)}, ${o.cpus}`],
  ];
  const box = byId('process');
  if (!box.children.length) rows.forEach(([name]) => box.append(el('dt', {}, name), el('dd')));
  rows.forEach(([, text], i) => setText(box.children[2 * i + 1], text));
}
