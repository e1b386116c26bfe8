import { byId, el, reconcile, setText } from './dom.js';
import { clock, counted, duration, number } from './format.js';
import { extent, rootOf, Spans } from './spans.js';
import { Stream } from './stream.js';
import { drawWaterfall, family, kindName } from './waterfall.js';

const listed = 200;    // traces in the list
const drawEvery = 250; // ms: a busy broker sends more spans than anybody reads

export function startTraces(seen) {
  const form = byId('traces-bar'), fields = form.elements, list = byId('trace-list'), fall = byId('waterfall');
  const spans = new Spans();
  let stream, held = false, chosen, drawn = '', problem = '', changed = true;

  const query = () => {
    const q = new URLSearchParams();
    for (const name of ['sample', 'actor', 'kind']) if (fields[name].value.trim()) q.set(name, fields[name].value.trim());
    return q;
  };
  const take = line => { if (!held) { spans.add(line); changed = true; } };
  const stop = () => { stream?.stop(); stream = undefined; dress(); };

  async function watch() {
    stop();
    problem = '';
    held = false;
    const mine = new Stream('trace?' + query(), take, why => {
      if (stream !== mine) return;
      stream = undefined;
      problem = why ? `The stream broke off: ${why}` : why === '' ? 'The broker ended the stream.' : '';
      dress();
    });
    stream = mine;
    dress();
  }

  // The spans that the broker still has show at once; a stream brings the later ones.
  function recall() {
    const q = query();
    q.delete('sample');
    q.set('recent', 2000);
    new Stream('trace?' + q, take, () => {});
  }

  function dress() {
    setText(byId('watch'), stream ? 'Stop' : 'Watch');
    byId('hold').disabled = !stream;
    byId('hold').setAttribute('aria-pressed', held);
    setText(byId('hold'), held ? 'Go on' : 'Pause');
    const state = problem || (stream ? held ? 'Paused.' : 'Watching.' : 'Not watching.');
    const lost = spans.dropped ? `, ${number(spans.dropped)} spans lost: sample less` : '';
    setText(byId('traces-note'), `${state} ${number(spans.traces.size)} traces, ${number(spans.count)} spans${lost}`);
  }

  function pick(id) {
    chosen = id;
    drawn = '';
    changed = true;
    draw();
  }

  function shownTraces() {
    const slower = Number(fields.slower.value || 0) * 1000;
    const out = [];
    for (const t of [...spans.traces.values()].reverse()) {
      const whole = extent(t.spans);
      if (whole.length >= slower) out.push({ trace: t, root: rootOf(t), whole });
      if (out.length === listed) break;
    }
    return out;
  }

  function draw() {
    if (!seen() || !changed) return;
    changed = false;
    dress();
    const shown = shownTraces();
    list.hidden = shown.length === 0;
    reconcile(list, shown, s => s.trace.id, create, update);
    offerKinds();
    const t = spans.traces.get(chosen);
    // It is drawn again only when spans came, so that what was chosen in it stays.
    const state = t ? `${t.id} ${spans.rows(t).length}` : 'none';
    if (state === drawn) return;
    drawn = state;
    if (t) drawWaterfall(fall, spans, t, pick);
    else fall.replaceChildren(el('div', { class: 'empty' }, el('p', {}, spans.count ? 'Choose a trace to see what happened in it, and where it waited.'
      : 'Nothing is traced. Choose what to trace and press Watch: it is traced for as long as you watch.')));
  }

  function create({ trace }) {
    const button = el('button', { type: 'button', onclick: () => pick(trace.id) },
      el('span', { class: 'line1' }, el('b'), el('span', { class: 'took' })),
      el('span', { class: 'line2' }, el('span'), el('span')),
      el('span', { class: 'strip', 'aria-hidden': 'true' }));
    return el('li', {}, button);
  }

  function update(li, { trace, root, whole }) {
    const button = li.firstElementChild, [one, two, strip] = button.children;
    button.toggleAttribute('aria-current', trace.id === chosen);
    setText(one.children[0], kindName(root.kind));
    setText(one.children[1], duration(whole.length));
    setText(two.children[0], root.receiver);
    setText(two.children[1], `${clock(root.wall)} · ${counted(trace.spans.length, 'span')}`);
    if (li.dataset.count === String(trace.spans.length)) return;
    li.dataset.count = trace.spans.length;
    strip.replaceChildren(...trace.spans.map(s => el('i', {
      class: family(s.receiver), style: { '--from': (s.started - whole.from) / whole.length, '--to': (s.ended - whole.from) / whole.length },
    })));
  }

  function offerKinds() {
    const known = byId('kinds-known');
    reconcile(known, [...spans.kinds].sort(), k => k, k => el('option', { value: k }), () => {});
  }

  form.addEventListener('submit', e => { e.preventDefault(); stream ? stop() : watch(); });
  for (const name of ['sample', 'actor', 'kind']) fields[name].addEventListener('change', () => stream && watch());
  fields.slower.addEventListener('input', () => { changed = true; draw(); });
  byId('hold').addEventListener('click', () => { held = !held; dress(); });
  byId('clear').addEventListener('click', () => { spans.clear(); chosen = undefined; changed = true; draw(); });
  list.addEventListener('keydown', e => {
    const step = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[e.key];
    const next = step && document.activeElement.closest('li')?.[step]?.firstElementChild;
    if (next) { e.preventDefault(); next.focus(); next.click(); }
  });
  setInterval(draw, drawEvery);
  recall();
  return {
    shown: () => { changed = true; draw(); },
    watchActor(name) { fields.sample.value = ''; fields.actor.value = name; fields.kind.value = ''; watch(); },
  };
}
