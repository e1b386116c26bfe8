import { byId, el, reconcile, setText } from './dom.js';
import { bytes, counted, number, short } from './format.js';
import { every, get, Rates } from './poll.js';

const columns = ['actor', 'kind', 'waiting', 'handled/s', 'handled', 'restarts', 'state', ''];
// Above so many actors the tree is asked for level by level, as far as it is open.
const wholeTree = 2000;

export function startActors(seen, trace) {
  const form = byId('actors-bar'), rates = new Rates();
  const open = new Set(['disks', 'listeners']);
  const body = el('tbody');
  byId('actors-table').append(el('table', { role: 'treegrid', class: 'tree' },
    el('caption', { class: 'off-screen' }, 'Actors'),
    el('thead', {}, el('tr', {}, ...columns.map((c, i) => el('th', { scope: 'col', class: i > 1 && i < 6 && 'number' }, c)))),
    body));
  let levels = 3, deepest = 1, first = true;
  const openDisks = branches => find(branches, 'disks')?.children?.forEach(b => open.add(b.name));

  const read = every(1000, seen, async () => {
    const q = new URLSearchParams(), f = form.elements;
    for (const name of ['kind', 'under']) if (f[name].value) q.set(name, f[name].value.trim());
    const top = f.view.value === 'top';
    if (top) q.set('top', 100); else if (!q.size) q.set('levels', levels);
    const answer = await get('actors?' + q);
    if (!answer) return;
    levels = answer.total > wholeTree ? 2 : 3;
    if (first) openDisks(answer.actors);
    first = false;
    if (!top) await graft(answer.actors, open);
    rates.begin(answer.at);
    const rows = [];
    flatten(answer.actors, 0, rows, b => top || q.has('kind') || q.has('under') || open.has(b.name), rates);
    deepest = Math.max(1, ...rows.map(r => r.waiting));
    reconcile(body, rows, r => r.branch.name, create, update);
    setText(byId('actors-note'), `${number(answer.shown)} of ${number(answer.total)} actors`);
    offerKinds(form.elements.kind, answer.actors);
  });

  const toggle = name => { if (!open.delete(name)) open.add(name); read(); };

  function create(row) {
    const expander = el('button', { class: 'expander', type: 'button', onclick: () => toggle(row.branch.name) });
    const name = el('td', {}, el('div', { class: 'name' }, expander, el('span', { class: 'label' })));
    const cells = columns.slice(1).map((_, i) => el('td', { class: i > 0 && i < 5 ? 'number' : '' }));
    cells[1].append(el('span', { class: 'meter' }), el('span'));
    if (row.branch.kind) {
      cells[6].append(el('button', {
        class: 'quiet small', type: 'button', title: `Trace the messages of ${row.branch.name}`, onclick: () => trace(row.branch.name),
      }, 'trace'));
    }
    const tr = el('tr', {}, name, ...cells);
    tr.addEventListener('keydown', e => {
      if (e.key === 'ArrowRight' && !open.has(row.branch.name) || e.key === 'ArrowLeft' && open.has(row.branch.name)) toggle(row.branch.name);
    });
    return tr;
  }

  function update(tr, row) {
    const b = row.branch, inner = b.below?.actors > 0;
    tr.setAttribute('aria-level', row.level + 1);
    if (inner) tr.setAttribute('aria-expanded', row.open);
    tr.className = b.suspended || b.lastError && b.restarts ? 'hurt' : b.kind ? '' : 'group';
    const [first, kind, waiting, rate, handled, restarts, state] = tr.children, name = first.firstElementChild;
    name.style.setProperty('--level', row.level);
    const [expander, label] = name.children;
    expander.hidden = !inner;
    setText(expander, row.open ? '▾' : '▸');
    expander.setAttribute('aria-label', `${row.open ? 'Close' : 'Open'} ${b.name}`);
    setText(label, row.label);
    label.title = b.name;
    setText(kind, b.kind || counted(b.below?.actors ?? 0, 'actor'));
    waiting.children[0].style.setProperty('--share', row.waiting / deepest);
    setText(waiting.children[1], number(row.waiting));
    waiting.title = b.bytes ? `${bytes(b.bytes)} of messages` : '';
    setText(rate, row.rate === undefined ? '–' : short(row.rate));
    setText(handled, short(row.handled));
    setText(restarts, number(row.restarts));
    restarts.classList.toggle('warn', row.restarts > 0);
    setText(state, stateOf(row));
    state.className = 'state ' + (b.suspended ? 'bad' : row.busy ? 'busy' : '');
    state.title = b.lastError ?? '';
  }
  form.addEventListener('submit', e => e.preventDefault());
  form.addEventListener('input', read);
  return { shown: read };
}

// graft asks for what is below the open branches that came without their children.
async function graft(branches, open) {
  for (const b of branches) {
    if (!open.has(b.name)) continue;
    if (b.below?.actors && !b.children) {
      const answer = await get('actors?under=' + encodeURIComponent(b.name));
      b.children = find(answer?.actors ?? [], b.name)?.children ?? [];
    }
    if (b.children) await graft(b.children, open);
  }
}

function find(branches, name) {
  for (const b of branches) {
    if (b.name === name) return b;
    if (name.startsWith(b.name + '/')) return find(b.children ?? [], name);
  }
  return undefined;
}

const natural = new Intl.Collator('en', { numeric: true });

// flatten makes rows of the branches that show, with the sums of those below where they are closed.
function flatten(branches, level, rows, isOpen, rates) {
  const sorted = rows.length || level ? branches.toSorted((a, b) => natural.compare(a.name, b.name)) : branches;
  for (const b of sorted) {
    const opened = isOpen(b), own = !b.below || opened && b.kind;
    const sum = key => (b[key] ?? 0) + (own ? 0 : b.below[key] ?? 0);
    const handled = sum('handled');
    rows.push({
      branch: b, level, open: opened && b.children?.length > 0, handled, waiting: sum('depth'), restarts: sum('restarts'),
      busy: own ? Number(b.busy) : b.below.busy + Number(b.busy), own,
      rate: rates.of(`${b.name} ${own}`, handled), label: level ? b.name.slice(b.name.lastIndexOf('/') + 1) : b.name,
    });
    if (opened && b.children) flatten(b.children, level + 1, rows, isOpen, rates);
  }
}

function stateOf({ branch: b, busy, own }) {
  if (b.suspended) return 'panicked, restarting';
  if (b.stopping) return 'stopping';
  if (!own || !b.kind) return busy ? `${number(busy)} busy` : 'idle';
  return (busy ? 'busy' : 'idle') + (b.restarts ? ', restarted' : '');
}

function offerKinds(select, branches) {
  const known = new Set([...select.options].map(o => o.value));
  const walk = bs => bs.forEach(b => {
    if (b.kind && !known.has(b.kind)) { known.add(b.kind); select.append(el('option', {}, b.kind)); }
    walk(b.children ?? []);
  });
  walk(branches);
}
