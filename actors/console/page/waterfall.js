import { el, setText } from './dom.js';
import { clock, duration } from './format.js';
import { extent, rootOf } from './spans.js';

// hue gives each kind of receiver a colour of its own: by the first part of its name.
const families = ['listeners', 'replicas', 'disks', 'controller', 'metadata', 'checkpointer'];
export const family = receiver => {
  const i = families.indexOf(receiver.split('/')[0]);
  return 'f' + (i < 0 ? families.length : i);
};

// Names that the broker gives to what is no message.
const spoken = { EndBatch: 'end of batch', reply: 'reply written' };
export const kindName = kind => spoken[kind] ?? kind;

// drawWaterfall shows the spans of a trace as a tree beside their times: queueing hatched, handling solid.
export function drawWaterfall(box, spans, trace, pick) {
  const rows = spans.rows(trace), root = rootOf(trace), whole = extent(rows.map(r => r.span));
  const place = us => (us - whole.from) / (whole.length || 1);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map(at => el('span', { style: { '--at': at } }, duration(at * whole.length)));
  const detail = el('div', { class: 'span-detail', 'aria-live': 'polite' }, el('p', { class: 'note' }, 'Choose a span to see what caused it, and what it served.'));
  const choose = (button, row) => {
    box.querySelector('.span[aria-current]')?.removeAttribute('aria-current');
    button.setAttribute('aria-current', 'true');
    detail.replaceChildren(describe(row, spans, pick));
  };
  const list = el('ol', { class: 'spans' }, ...rows.map(row => line(row, place, choose)));
  box.replaceChildren(
    el('header', { class: 'fall-head' },
      el('h2', {}, `${kindName(root.kind)} `, el('small', { class: 'mono' }, root.receiver)),
      el('p', { class: 'note' }, `${clock(root.wall)} · ${duration(whole.length)} · ${rows.length} spans · broker ${root.broker} · trace `, el('code', {}, trace.id)),
      el('p', { class: 'legend', 'aria-hidden': 'true' }, el('i', { class: 'queue' }), 'waiting in the mailbox', el('i', { class: 'work f1' }), 'being handled', el('span', { class: 'chain' }, '×2'), 'one piece of work for several requests')),
    el('div', { class: 'axis', 'aria-hidden': 'true' }, el('div', {}, ...ticks)),
    list, detail);
}

function line(row, place, choose) {
  const { span: s, level, shared } = row;
  const queued = s.started - s.enqueued, handled = s.ended - s.started;
  const bar = el('div', { class: 'lane', 'aria-hidden': 'true' },
    el('i', { class: 'queue', style: { '--from': place(s.enqueued), '--to': place(s.started) } }),
    el('i', { class: `work ${family(s.receiver)}`, style: { '--from': place(s.started), '--to': place(s.ended) } }));
  const button = el('button', {
    class: 'span', type: 'button', style: { '--level': level },
    'aria-label': `${kindName(s.kind)} at ${s.receiver}, waited ${duration(queued)}, handled in ${duration(handled)}${shared ? ', shared' : ''}`,
  },
    el('span', { class: 'who' },
      el('span', { class: `dot ${family(s.receiver)}` }), el('b', {}, kindName(s.kind)), shared ? el('span', { class: 'chain' }, s.links.length > 1 ? `×${s.links.length}` : 'shared') : '',
      el('span', { class: 'receiver', title: s.receiver }, s.receiver)),
    bar,
    el('span', { class: 'time' }, el('span', { class: 'queued' }, queued >= 0.05 ? duration(queued) : ''), el('span', {}, duration(handled))));
  button.addEventListener('click', () => choose(button, row));
  return el('li', {}, button);
}

// describe tells all of one span, with ways to the other traces that it served.
function describe({ span: s, shared }, spans, pick) {
  const cause = s.cause && spans.find(s.cause);
  const rows = [
    ['message', kindName(s.kind)], ['from', s.sender || (s.links.length || s.kind in spoken ? 'itself' : 'outside the actors')], ['to', s.receiver],
    ['waited', duration(s.started - s.enqueued)], ['handled in', duration(s.ended - s.started)],
    ['span', s.span], ['caused by', cause ? `${kindName(cause.kind)} at ${cause.receiver}` : s.cause || 'nothing: it began the trace'],
  ];
  const list = el('dl', { class: 'pairs' }, ...rows.flatMap(([name, text]) => [el('dt', {}, name), el('dd', { class: 'mono' }, text)]));
  const others = [...new Set(s.links.map(l => l.trace))];
  if (!shared || !others.length) return list;
  const jump = id => {
    const t = spans.traces.get(id);
    const label = t ? `${kindName(rootOf(t).kind)} ${id.slice(0, 6)}` : id.slice(0, 6);
    return el('button', { class: 'small', type: 'button', disabled: !t, onclick: () => pick(id) }, label);
  };
  const served = el('p', { class: 'served' });
  setText(served, `It served ${s.links.length} messages of ${others.length} traces: `);
  served.append(...others.slice(0, 40).map(jump), others.length > 40 ? ` and ${others.length - 40} more` : '');
  const both = el('div', {}, list, served);
  return both;
}
