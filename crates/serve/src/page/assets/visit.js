// Goes to another view of the same run without loading the page anew: a step, a position in time, a form that changes it.
//
// Links and forms whose address is that of this run are taken; everything works the same without this module.

import { changing, morph } from './morph.js';

let newest = 0;
let underway = null;
let sending = 0;

// Tells what went wrong above everything else, without taking the page away.
export const warn = (words) => {
  const shown = document.querySelector('main > .error[data-js]');
  // A screen reader says it once.
  if (shown?.textContent === words) return;
  shown?.remove();
  const notice = document.createElement('p');
  notice.className = 'error';
  notice.setAttribute('role', 'alert');
  notice.setAttribute('data-js', '');
  notice.textContent = words;
  document.querySelector('main').prepend(notice);
};

const show = (next, url, { replace }) => {
  changing(() => {
    document.querySelector('main > .error[data-js]')?.remove();
    document.title = next.title;
    morph(document.querySelector('main'), document.adoptNode(next.querySelector('main')));
  });
  if (replace) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  document.dispatchEvent(new CustomEvent('page:visited'));
};

export const ask = async (url, request) => {
  const answer = await fetch(url, { ...request, headers: { Accept: 'text/html' } });
  const isPage = (answer.headers.get('content-type') ?? '').startsWith('text/html');
  const next = isPage ? new DOMParser().parseFromString(await answer.text(), 'text/html') : null;
  return { answer, next };
};

// The newest visit wins: an answer that comes after a later question is dropped.
export const visit = async (url, { replace = false } = {}) => {
  const mine = ++newest;
  underway?.abort();
  underway = new AbortController();
  try {
    const { answer, next } = await ask(url, { signal: underway.signal });
    if (mine !== newest) return;
    if (answer.ok && next) show(next, answer.url, { replace: replace || answer.url === location.href });
    else location.assign(url);
  } catch (error) {
    // The server is away: the page that is there is better than the browser's own.
    if (error.name !== 'AbortError' && mine === newest) warn('The server does not answer. Is `updraft serve` running?');
  } finally {
    if (mine === newest) underway = null;
  }
};

// Whether a view is being fetched or a form sent. The page is not loaded anew meanwhile, or a click would be lost.
export const isBusy = () => underway !== null || sending > 0;

const send = async (form, submitter, action) => {
  // A form is sent once: its buttons wake up when the answer is there.
  const fields = new URLSearchParams(new FormData(form, submitter));
  const buttons = [...form.querySelectorAll('button')].filter((button) => !button.disabled);
  for (const button of buttons) button.disabled = true;
  sending += 1;
  try {
    const { answer, next } = await ask(action.href, { method: 'POST', body: fields });
    for (const button of buttons) button.disabled = false;
    if (!answer.ok) {
      const words = [...(next?.querySelectorAll('main :is(h1, .why, .hint)') ?? [])].map((part) => part.textContent);
      warn(words.join(' · ') || `The server says ${answer.status}.`);
    } else if (new URL(answer.url).pathname === location.pathname) {
      form.reset();
      if (!underway) await visit(location.href, { replace: true });
    } else location.assign(answer.url);
  } catch {
    for (const button of buttons) button.disabled = false;
    warn('The server does not answer, so it is not known whether this arrived. Look again when it is back.');
  } finally {
    sending -= 1;
  }
};

const runOf = (path) => /^\/runs\/[^/]+/.exec(path)?.[0];
const isHere = (url) => url.origin === location.origin && runOf(url.pathname) && runOf(url.pathname) === runOf(location.pathname);
const isPlain = (event) => event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;

document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href]');
  if (!link || event.defaultPrevented || !isPlain(event)) return;
  const url = new URL(link.getAttribute('href'), location.href);
  if (!isHere(url) || url.pathname !== location.pathname || link.hasAttribute('download')) return;
  if (url.search === location.search && url.hash) return;
  event.preventDefault();
  visit(url.href);
});

document.addEventListener('submit', (event) => {
  const form = event.target;
  const action = new URL(event.submitter?.getAttribute('formaction') ?? form.getAttribute('action') ?? '', location.href);
  const isOthers = form.enctype === 'multipart/form-data' || form.hasAttribute('data-redraw');
  if (event.defaultPrevented || !isHere(action) || isOthers) return;
  event.preventDefault();
  if (form.method !== 'get') {
    send(form, event.submitter, action);
    return;
  }
  action.search = new URLSearchParams(new FormData(form, event.submitter)).toString();
  visit(action.href);
});

window.addEventListener('popstate', () => {
  if (isHere(new URL(location.href))) visit(location.href, { replace: true });
});
