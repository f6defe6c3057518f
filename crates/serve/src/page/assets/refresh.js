// Looks again at a page that shows work under way, as long as it says so with `data-refresh`.

import { visit } from './visit.js';

const EVERY = 1_000;
let timer = 0;

const again = () => {
  clearTimeout(timer);
  if (document.hidden || !document.querySelector('[data-refresh]')) return;
  timer = setTimeout(async () => {
    await visit(location.href, { replace: true });
    again();
  }, EVERY);
};

document.addEventListener('page:visited', again);
document.addEventListener('visibilitychange', again);
again();
