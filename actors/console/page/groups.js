import { byId, el, setText, table } from './dom.js';
import { counted, number, span } from './format.js';
import { every, get } from './poll.js';

const unknown = '–';
const lag = g => g.lag === null ? unknown : number(g.lag);
const offset = v => v === null ? unknown : number(v);

// age writes how old the oldest record is that was not read: tenths of a second at first, and coarser later.
const age = g => {
  if (g.lagMs === null) return unknown;
  if (g.lagMs === 0) return '0 s';
  if (g.lagMs < 60000) return (g.lagMs / 1000).toFixed(1) + ' s';
  return span(g.lagMs);
};

const states = { Stable: 'good', Empty: 'dim', Dead: 'bad' };
const state = g => el('span', { class: states[g.state] ?? 'warn' }, g.state);

export function startGroups(seen) {
  const form = byId('groups-bar');
  let named = ''; // the group that shows whole

  const groups = table('Groups, the furthest behind first', [
    { title: 'group', class: 'strong', cell: g => g.button },
    { title: 'state', cell: state },
    { title: 'members', number: true, cell: g => number(g.members) },
    { title: 'lag, records', number: true, cell: lag },
    { title: 'lag, time', number: true, cell: age },
    { title: 'protocol', class: 'dim', cell: g => g.type },
  ], g => g.id);
  const members = table('Members', [
    { title: 'client', class: 'strong', cell: m => m.clientId },
    { title: 'host', cell: m => m.host },
    { title: 'partitions', number: true, cell: m => number(m.partitions) },
    { title: 'epoch', number: true, cell: m => number(m.epoch) },
    { title: 'instance', cell: m => m.instance ?? unknown },
    { title: 'member id', class: 'mono dim', cell: m => m.id },
  ], m => m.id);
  const partitions = table('Partitions', [
    { title: 'topic', class: 'strong', cell: p => p.topic },
    { title: 'partition', number: true, cell: p => String(p.partition) },
    { title: 'committed', number: true, cell: p => offset(p.committed) },
    { title: 'end', number: true, cell: p => offset(p.end) },
    { title: 'lag, records', number: true, cell: lag },
    { title: 'lag, time', number: true, cell: age },
    { title: 'read by', class: 'mono dim', cell: p => p.member ?? 'nobody' },
  ], p => `${p.topic}-${p.partition}`);

  const part = (title, of) => el('div', {}, el('h3', {}, title), el('div', { class: 'scroll' }, of.node));
  const membersPart = part('Members', members), partitionsPart = part('Partitions', partitions);
  const heading = el('h2'), facts = el('p', { class: 'facts-of' });
  const detail = el('div', { class: 'detail', hidden: true }, heading, facts,
    membersPart, partitionsPart);
  const empty = el('p', { class: 'empty' }, 'No groups.');
  byId('groups-table').append(groups.node, empty);
  byId('group-detail').append(detail);

  const buttons = new Map();
  const buttonOf = id => {
    if (!buttons.has(id)) {
      buttons.set(id, el('button', { class: 'link', type: 'button', onclick: () => { named = named === id ? '' : id; read(); } }, id));
    }
    const b = buttons.get(id);
    b.setAttribute('aria-expanded', named === id);
    return b;
  };

  const showDetail = g => {
    detail.hidden = !g;
    if (!g) return;
    setText(heading, named);
    const parts = [g.state, counted(g.members, 'member'), g.type === 'classic' ? `generation ${g.epoch}` : `epoch ${g.epoch}`];
    if (g.assignor) parts.push(g.assignor);
    if (g.lag !== null) parts.push(counted(g.lag, 'record') + ' behind');
    if (g.lagMs) parts.push(`the oldest of ${age(g)} ago`);
    setText(facts, parts.join(' · '));
    membersPart.hidden = g.seats.length === 0;
    members.show(g.seats);
    partitionsPart.hidden = g.partitions.length === 0;
    partitions.show(g.partitions);
  };

  const read = every(2000, seen, async () => {
    const answer = await get('groups?match=' + encodeURIComponent(form.elements.match.value));
    if (!answer) return;
    groups.show(answer.groups.map(g => ({ ...g, button: buttonOf(g.id) })));
    empty.hidden = answer.groups.length > 0;
    groups.node.hidden = !empty.hidden;
    const more = answer.total > answer.groups.length ? `, the ${number(answer.groups.length)} furthest behind are shown` : '';
    const measured = answer.measured ? `, lags of ${span(Math.max(0, answer.at - answer.measured))} ago` : '';
    setText(byId('groups-note'), counted(answer.total, 'group') + ' coordinated here' + more + measured);
    if (named && !answer.groups.some(g => g.id === named)) named = '';
    showDetail(named ? await get('groups?name=' + encodeURIComponent(named)) : undefined);
  });
  form.addEventListener('submit', e => e.preventDefault());
  form.addEventListener('input', read);
  return { shown: read };
}
