// Lets a sweep that runs move by itself. Without this the page tells the same when it is loaded again.
'use strict';

const live = document.querySelector('[data-events]');

if (live) {
  const counts = new Map();
  for (const cell of live.querySelectorAll('[data-count]')) {
    counts.set(`${cell.dataset.count} ${cell.dataset.policy}`, cell);
  }
  const removed = new Map();
  const pages = new Map();
  const say = (policy, what, text) => {
    const cell = counts.get(`${what} ${policy}`);
    if (cell) cell.textContent = text;
  };
  const number = (value) => value.toLocaleString('en');

  const tell = (policy, tally, page) => {
    removed.set(policy, tally.removed);
    pages.set(policy, page);
    say(policy, 'removed', number(tally.removed));
    say(policy, 'cleared', number(tally.cleared));
    for (const [reason, count] of Object.entries(tally.kept_back ?? {})) say(policy, reason, number(count));
    say(policy, 'pages', number(page));
    const sum = [...removed.values()].reduce((all, one) => all + one, 0);
    document.getElementById('removed').textContent = number(sum);
  };

  const events = new EventSource(live.dataset.events);
  const on = (name, act) => events.addEventListener(name, (event) => act(JSON.parse(event.data)));
  on('state', (state) => {
    for (const run of state.policies) tell(run.policy, run, run.pages ?? 0);
  });
  on('page', ({ policy, so_far }) => tell(policy, so_far, (pages.get(policy) ?? 0) + 1));
  on('policy_ended', ({ policy, outcome }) => {
    say(policy, 'outcome', outcome.replaceAll('_', ' '));
    // Not every page: whoever listens to the screen would hear nothing else.
    const status = document.getElementById('progress');
    status.textContent = `${policy}: ${number(removed.get(policy) ?? 0)} removed.`;
  });
  on('sweep_ended', () => {
    events.close();
    location.reload();
  });
}
