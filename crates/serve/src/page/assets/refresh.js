// Looks again at a page that shows work under way, as long as it says so with `data-refresh`.

import { visit } from './visit.js';

const EVERY = 1_000;
const LONGEST_WAIT = 10_000;
let timer = 0;
let visits = 0;

const again = (wait = EVERY) => {
  clearTimeout(timer);
  if (document.hidden || !document.querySelector('[data-refresh]')) return;
  timer = setTimeout(async () => {
    const before = visits;
    await visit(location.href, { replace: true });
    // The server does not answer now.
    if (visits === before) again(Math.min(2 * wait, LONGEST_WAIT));
  }, wait);
};

document.addEventListener('page:visited', () => {
  visits += 1;
  again();
});
document.addEventListener('visibilitychange', () => again());
again();
