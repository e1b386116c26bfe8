// Elements are made by code and their text is set as text: nothing that the broker says is ever read as HTML.

export const byId = id => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter(c => c !== undefined));
  return node;
}

// setText leaves the node alone when nothing changed, so that selections and screen readers are not disturbed.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// reconcile makes the children of parent those of items, in order. A child is kept as long as its key is there, with
// focus and selection.
export function reconcile(parent, items, key, create, update) {
  const old = new Map();
  for (const child of parent.children) old.set(child.dataset.key, child);
  let at = parent.firstElementChild;
  for (const item of items) {
    const k = key(item);
    let child = old.get(k);
    if (child) old.delete(k);
    else { child = create(item); child.dataset.key = k; }
    update(child, item);
    if (child === at) at = at.nextElementSibling;
    else parent.insertBefore(child, at);
  }
  for (const child of old.values()) child.remove();
}

// table makes a table of columns {title, number, cell(item) -> text or node}; its show(items) fills it.
export function table(caption, columns, key) {
  const body = el('tbody');
  const head = el('tr', {}, ...columns.map(c => el('th', { scope: 'col', class: c.number && 'number' }, c.title)));
  const node = el('table', {}, el('caption', { class: 'off-screen' }, caption), el('thead', {}, head), body);
  const create = () => el('tr', {}, ...columns.map(c => el('td', { class: [c.number && 'number', c.class].filter(Boolean).join(' ') })));
  const update = (row, item) => columns.forEach((c, i) => {
    const v = c.cell(item), cell = row.children[i];
    if (v instanceof Node) cell.replaceChildren(v);
    else setText(cell, v ?? '');
  });
  return { node, show: items => reconcile(body, items, key, create, update) };
}
