// Forms that the server draws again after every change, marked with `data-redraw`: the page changes where it stands.
//
// A change of a field sends the form as its first button would, and leaves alone what is being typed. Without this module,
// each button loads the page anew.

import { changing, morph } from './morph.js';
import { ask, warn } from './visit.js';

let underway = null;

const send = async (form, submitter, { isQuiet }) => {
  underway?.abort();
  const mine = new AbortController();
  underway = mine;
  try {
    const body = new URLSearchParams(new FormData(form, submitter));
    const { answer, next } = await ask(form.action, { method: 'POST', body, signal: mine.signal });
    if (answer.redirected) {
      location.assign(answer.url);
      return;
    }
    const isForm = next?.querySelector('form[data-redraw]');
    if (!isForm) {
      const words = [...(next?.querySelectorAll('main :is(h1, .why, .hint)') ?? [])].map((part) => part.textContent);
      warn(words.join(' · ') || `The server says ${answer.status}.`);
      return;
    }
    changing(() => morph(document.querySelector('main'), document.adoptNode(next.querySelector('main'))));
    if (isQuiet) return;
    // What the server has changed counts, also where something was typed.
    for (const one of document.querySelectorAll('form[data-redraw]')) one.reset();
    for (const fold of document.querySelectorAll('details:has([aria-invalid])')) fold.open = true;
    document.querySelector('main [autofocus]')?.focus();
  } catch (error) {
    if (error.name !== 'AbortError') warn('The server does not answer. Is `updraft serve` running?');
  }
};

const formOf = (event) => event.target.closest?.('form[data-redraw]');

document.addEventListener('submit', (event) => {
  const form = formOf(event);
  if (!form) return;
  event.preventDefault();
  send(form, event.submitter, { isQuiet: false });
});

document.addEventListener('change', (event) => {
  const form = formOf(event);
  const draw = form?.querySelector('button.redraw');
  if (draw) send(form, draw, { isQuiet: true });
});

const mark = () => {
  for (const form of document.querySelectorAll('form[data-redraw]')) form.setAttribute('data-js-live', '');
};
document.addEventListener('page:changed', mark);
mark();
