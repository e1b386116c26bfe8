import { byId } from './dom.js';
import { startOverview } from './overview.js';
import { startActors } from './actors.js';
import { startCluster } from './cluster.js';
import { startTraces } from './traces.js';
import { startTopics } from './topics.js';
import { startGroups } from './groups.js';

const tabs = [...document.querySelectorAll('[role=tab]')];
const views = {};

function show(name) {
  if (!views[name]) name = 'overview';
  for (const tab of tabs) {
    const chosen = tab.dataset.view === name;
    tab.setAttribute('aria-selected', chosen);
    tab.tabIndex = chosen ? 0 : -1;
    byId(tab.dataset.view).hidden = !chosen;
  }
  views[name].shown();
}

const current = () => location.hash.slice(1).split('?')[0] || 'overview';
const seen = name => () => !byId(name).hidden;

tabs.forEach((tab, i) => {
  tab.addEventListener('click', () => { location.hash = tab.dataset.view; });
  tab.addEventListener('keydown', e => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const next = tabs[(i + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
});

// The button goes round: as the system has it, light, dark.
function dressThemeButton() {
  byId('theme').textContent = { light: '☀ Light', dark: '☾ Dark' }[document.documentElement.dataset.theme] ?? '◐ System';
}
byId('theme').addEventListener('click', () => {
  const next = { undefined: 'light', light: 'dark' }[document.documentElement.dataset.theme];
  if (next) {
    document.documentElement.dataset.theme = next;
    localStorage.setItem('theme', next);
  } else {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem('theme');
  }
  dressThemeButton();
});
dressThemeButton();

views.overview = startOverview(seen('overview'));
views.traces = startTraces(seen('traces'));
views.actors = startActors(seen('actors'), actor => {
  views.traces.watchActor(actor);
  location.hash = 'traces';
});
views.cluster = startCluster(seen('cluster'));
views.topics = startTopics(seen('topics'));
views.groups = startGroups(seen('groups'));
addEventListener('hashchange', () => show(current()));
show(current());
