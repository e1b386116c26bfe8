import { el, setText } from './dom.js';

const points = 120;
const svg = (tag, attributes) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [k, v] of Object.entries(attributes)) node.setAttribute(k, v);
  return node;
};

// Card is a number with the line of its last two minutes or so.
export class Card {
  #values = [];

  constructor(title, format) {
    this.format = format;
    this.value = el('strong', {}, '–');
    this.peak = el('span', { class: 'peak' });
    this.line = svg('path', { class: 'line', fill: 'none', 'vector-effect': 'non-scaling-stroke' });
    this.area = svg('path', { class: 'area' });
    this.picture = svg('svg', { viewBox: `0 0 ${points - 1} 40`, preserveAspectRatio: 'none', role: 'img' });
    this.picture.append(this.area, this.line);
    this.title = title;
    this.node = el('section', { class: 'card' }, el('h2', {}, title), this.value, this.peak, this.picture);
  }

  push(v) {
    if (v === undefined) return;
    this.#values.push(v);
    if (this.#values.length > points) this.#values.shift();
    const values = this.#values, top = Math.max(...values);
    setText(this.value, this.format(v));
    setText(this.peak, 'peak ' + this.format(top));
    const x = i => points - values.length + i, y = n => 38 - (top ? n / top : 0) * 35;
    const path = values.map((n, i) => `${i ? 'L' : 'M'}${x(i)} ${y(n).toFixed(2)}`).join('');
    this.line.setAttribute('d', path);
    this.area.setAttribute('d', `${path}L${points - 1} 40L${x(0)} 40Z`);
    this.picture.setAttribute('aria-label', `${this.title}: now ${this.format(v)}, peak ${this.format(top)} of the last ${values.length} readings`);
  }
}
