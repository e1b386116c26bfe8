import { byId, el, setText, table } from './dom.js';
import { bytes, counted, number, short } from './format.js';
import { every, get, Rates } from './poll.js';

const rate = (v, write) => v === undefined ? '–' : write(v);
const offset = v => v < 0 ? '–' : number(v);

export function startTopics(seen) {
  const form = byId('topics-bar'), rates = new Rates();
  let named = ''; // the topic whose partitions show

  const topics = table('Topics', [
    { title: 'topic', class: 'strong', cell: t => t.button },
    { title: 'partitions', number: true, cell: t => number(t.count) + (t.offline ? ` (${t.offline} offline)` : '') },
    { title: 'size here', number: true, cell: t => bytes(t.size) },
    { title: 'records in', number: true, cell: t => number(t.messagesIn) },
    { title: 'records/s', number: true, cell: t => rate(rates.of('records ' + t.name, t.messagesIn), short) },
    { title: 'in/s', number: true, cell: t => rate(rates.of('in ' + t.name, t.bytesIn), bytes) },
    { title: 'out/s', number: true, cell: t => rate(rates.of('out ' + t.name, t.bytesOut), bytes) },
    { title: 'id', class: 'mono dim', cell: t => t.id },
  ], t => t.name);
  const partitions = table('Partitions', [
    { title: 'partition', cell: p => String(p.partition) },
    { title: 'leader', cell: p => p.leader < 0 ? el('span', { class: 'bad' }, 'none') : `node ${p.leader}` },
    { title: 'epoch', number: true, cell: p => number(p.leaderEpoch) },
    { title: 'replicas', cell: p => p.replicas.join(', ') },
    { title: 'in sync', cell: p => el('span', { class: p.isr.length < p.replicas.length ? 'warn' : '' }, p.isr.join(', ') || 'none') },
    { title: 'log start', number: true, cell: p => offset(p.logStart) },
    { title: 'high watermark', number: true, cell: p => offset(p.highWatermark) },
    { title: 'log end', number: true, cell: p => offset(p.logEnd) },
    { title: 'size', number: true, cell: p => p.here ? bytes(p.size) : '–' },
    { title: 'segments', number: true, cell: p => p.here ? number(p.segments) : '–' },
    { title: 'here', cell: p => !p.here ? 'no' : p.online ? p.directory : el('span', { class: 'bad' }, 'offline'), class: 'mono dim' },
  ], p => String(p.partition));
  const heading = el('h2', { tabindex: '-1' });
  const detail = el('div', { class: 'detail', hidden: true }, heading, el('div', { class: 'scroll' }, partitions.node));
  const empty = el('p', { class: 'empty' }, 'No topics.');
  byId('topics-table').append(topics.node, empty, detail);

  const buttons = new Map();
  const buttonOf = name => {
    if (!buttons.has(name)) {
      buttons.set(name, el('button', { class: 'link', type: 'button', onclick: () => { named = named === name ? '' : name; read(); } }, name));
    }
    const b = buttons.get(name);
    b.setAttribute('aria-expanded', named === name);
    return b;
  };

  const read = every(1000, seen, async () => {
    const answer = await get('topics?match=' + encodeURIComponent(form.elements.match.value));
    if (!answer) return;
    rates.begin(answer.at);
    topics.show(answer.topics.map(t => ({ ...t, button: buttonOf(t.name) })));
    empty.hidden = answer.topics.length > 0;
    topics.node.hidden = !empty.hidden;
    const more = answer.total > answer.topics.length ? `, the ${number(answer.topics.length)} largest are shown` : '';
    setText(byId('topics-note'), counted(answer.total, 'topic') + more);
    const whole = named && (await get('topics?name=' + encodeURIComponent(named)))?.topics[0];
    detail.hidden = !whole;
    if (!whole) return;
    setText(heading, `Partitions of ${named}`);
    partitions.show(whole.partitions);
  });
  form.addEventListener('submit', e => e.preventDefault());
  form.addEventListener('input', read);
  return { shown: read };
}
