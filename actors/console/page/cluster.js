import { byId, el, setText, table } from './dom.js';
import { counted, number, span } from './format.js';
import { every, get } from './poll.js';

const tones = { serving: 'good', leaving: 'warn', fenced: 'bad', healthy: 'good', moving: 'warn', 'under-replicated': 'warn', 'under-min': 'bad', offline: 'bad' };
const words = { 'under-min': 'under min ISR', offline: 'no leader' };
const state = s => el('span', { class: `mark ${tones[s] ?? ''}` }, words[s] ?? s);

// Of a list of replicas those that are out of sync are marked.
const replicas = p => el('span', {}, ...p.replicas.flatMap((id, i) => [
  i ? ', ' : '', el('span', { class: p.isr.includes(id) ? '' : 'warn', title: p.isr.includes(id) ? undefined : 'not in sync' }, String(id)),
]));
const list = ids => ids?.length ? ids.join(', ') : '–';
const since = ms => ms < 0 ? 'not known' : ms < 1000 ? 'now' : `${span(ms)} ago`;

export function startCluster(seen) {
  const form = byId('cluster-bar');
  const brokers = table('Brokers', [
    { title: 'broker', class: 'strong', cell: b => `node ${b.id}` },
    { title: 'state', cell: b => state(b.state) },
    { title: 'address', class: 'mono', cell: b => b.address },
    { title: 'rack', cell: b => b.rack || '–' },
    { title: 'leads', number: true, cell: b => number(b.leads) },
    { title: 'first replica of', number: true, cell: b => number(b.first) },
    { title: 'replicas', number: true, cell: b => number(b.replicas) },
  ], b => String(b.id));
  const copies = table('Copies of the metadata log', [
    { title: 'node', class: 'strong', cell: c => `node ${c.id}` },
    { title: 'part', cell: c => c.part },
    { title: 'log end', number: true, cell: c => number(c.end) },
    { title: 'lag', number: true, cell: c => el('span', { class: c.lag > 100 ? 'warn' : '' }, number(c.lag)) },
    { title: 'had all', cell: c => since(c.caughtUp) },
    { title: 'directory', class: 'mono dim', cell: c => c.directory },
  ], c => `${c.id} ${c.directory}`);
  const partitions = table('Partitions', [
    { title: 'topic', class: 'strong', cell: p => p.topic },
    { title: 'partition', number: true, cell: p => String(p.partition) },
    { title: 'state', cell: p => state(p.state) },
    { title: 'leader', cell: p => p.leader < 0 ? el('span', { class: 'bad' }, 'none') : `node ${p.leader}` },
    { title: 'replicas', cell: replicas },
    { title: 'in sync', cell: p => list(p.isr) },
    { title: 'eligible', cell: p => list(p.elr) },
    { title: 'epoch', number: true, cell: p => number(p.epoch) },
  ], p => `${p.topic}-${p.partition}`);
  byId('cluster-brokers').append(brokers.node);
  byId('cluster-quorum').append(copies.node);
  const empty = el('p', { class: 'empty' }, 'No partitions.');
  byId('cluster-partitions').append(partitions.node, empty);

  const read = every(1000, seen, async () => {
    const a = await get('cluster?match=' + encodeURIComponent(form.elements.match.value));
    if (!a) return;
    brokers.show(a.brokers);
    copies.show(a.quorum.copies);
    setText(byId('cluster-quorum-note'), a.quorum.error ||
      `${a.quorum.leader < 0 ? 'nobody leads' : `node ${a.quorum.leader} leads`} in epoch ${number(a.quorum.epoch)}; committed up to offset ${number(a.quorum.highWatermark)}`);
    byId('cluster-quorum-note').classList.toggle('bad', Boolean(a.quorum.error));
    partitions.show(a.partitions);
    empty.hidden = a.partitions.length > 0;
    partitions.node.hidden = !empty.hidden;
    const wrong = [[a.offline, 'without a leader'], [a.underMin, 'under min ISR'], [a.underReplicated, 'under-replicated']]
      .filter(([n]) => n).map(([n, what]) => `${number(n)} ${what}`);
    const more = a.total > a.partitions.length ? `; the first ${number(a.partitions.length)} are shown` : '';
    setText(byId('cluster-note'), `${counted(a.total, 'partition')}: ${wrong.join(', ') || 'all are healthy'}${more}`);
  });
  form.addEventListener('submit', e => e.preventDefault());
  form.addEventListener('input', read);
  return { shown: read };
}

// showWarnings tells on every view what will hurt, and the command that ends it.
export function showWarnings(warnings) {
  const box = byId('warnings');
  box.hidden = !warnings?.length;
  const told = JSON.stringify(warnings ?? []);
  if (box.dataset.told === told) return;
  box.dataset.told = told;
  box.replaceChildren(...(warnings ?? []).map(w => el('p', {}, w.text, '. ', el('code', {}, w.mend))));
}
