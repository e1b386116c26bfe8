const whole = new Intl.NumberFormat('en');
const scaled = (v, units, step) => {
  let i = 0;
  while (v >= step && i < units.length - 1) { v /= step; i++; }
  return (v >= 100 || i === 0 && Number.isInteger(v) ? Math.round(v) : v >= 10 ? v.toFixed(1) : v.toFixed(2)) + units[i];
};

export const number = v => whole.format(Math.round(v));
export const counted = (n, noun) => `${number(n)} ${noun}${n === 1 ? '' : 's'}`;
export const short = v => scaled(v, ['', ' k', ' M', ' G'], 1000);
export const bytes = v => scaled(v, [' B', ' KiB', ' MiB', ' GiB', ' TiB'], 1024);
export const percent = v => Math.round(v * 100) + ' %';

// duration writes microseconds.
export function duration(us) {
  if (us >= 1e6) return (us / 1e6).toFixed(us >= 1e7 ? 1 : 2) + ' s';
  if (us >= 1000) return (us / 1000).toFixed(us >= 1e5 ? 0 : us >= 1e4 ? 1 : 2) + ' ms';
  return (us >= 10 ? Math.round(us) : us.toFixed(1)) + ' µs';
}

export const millis = ms => ms ? duration(ms * 1000) : '–';

export function span(ms) {
  const s = Math.floor(ms / 1000), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  if (d) return `${d} d ${h % 24} h`;
  if (h) return `${h} h ${m % 60} min`;
  if (m) return `${m} min ${s % 60} s`;
  return `${s} s`;
}

export const clock = ms => new Date(ms).toTimeString().slice(0, 8) + '.' + String(ms % 1000).padStart(3, '0');
