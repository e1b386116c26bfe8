import { byId } from './dom.js';

// get asks the broker and says on the page when it does not answer.
export async function get(path) {
  const lost = byId('lost');
  try {
    const reply = await fetch(path, { cache: 'no-store' });
    if (!reply.ok) throw new Error(await reply.text());
    const answer = await reply.json();
    lost.hidden = true;
    return answer;
  } catch (problem) {
    lost.textContent = `The broker does not answer: ${problem.message}. Trying again.`;
    lost.hidden = false;
    return undefined;
  }
}

// every runs a task now and then, while the page is seen and wanted() holds; one run at a time.
export function every(ms, wanted, task) {
  let running = false;
  const run = async () => {
    if (running || document.hidden || !wanted()) return;
    running = true;
    try { await task(); } finally { running = false; }
  };
  setInterval(run, ms);
  document.addEventListener('visibilitychange', run);
  return run;
}

// Rates makes rates of counters that only grow, by the time that the broker gives with them.
export class Rates {
  #before = new Map();
  #now = new Map();
  #at = 0;
  #elapsed = 0;

  begin(at) {
    if (at === this.#at) return;
    this.#elapsed = this.#at ? (at - this.#at) / 1000 : 0;
    this.#at = at;
    this.#before = this.#now;
    this.#now = new Map();
  }

  // of gives the rate a second, undefined at first and after a restart of the broker.
  of(name, value) {
    this.#now.set(name, value);
    const before = this.#before.get(name);
    if (before === undefined || this.#elapsed <= 0 || value < before) return undefined;
    return (value - before) / this.#elapsed;
  }
}
