// Keeps the page up to date: reads the stream that the page names in a `data-stream` attribute.
//
//   patch  {"position": 42, "replace": {ID: HTML}, "append": {ID: HTML}, "steps": {STEP: STATUS}, "reload": true}
//   live   [{"address": …, "kind": "text", "text": …}]: what a model is saying, for the element with that data-address
//   gone   the run cannot be read now: asked again, the server says why
//
// `id:` of an event is sent back as Last-Event-ID, so that nothing is missed. A hidden page closes its stream, because a
// browser allows few connections to one server.

import { isAtEnd } from './follow.js';
import { changing, morph } from './morph.js';
import { isBusy, visit } from './visit.js';

const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
// The shortest time between two changes of the page.
const PACE = 50;
// A change that takes long to show is followed by as long a pause, so that the page can be used while a large run works; but no
// longer than this.
const LONGEST_PAUSE = 250;
// To show changes takes longer than a frame: while somebody moves a picture they wait for its rest, but no longer than this. Then
// they are shown a few at a time, for so long each.
const LONGEST_HOLD = 5_000;
const LONGEST_SLICE = 10;
// A list that has grown longer is shown anew, with its newest entries only, unless it is being read.
const LONGEST_LIST = 1_000;

let stream = null;
let lastId = '';
let wait = FIRST_WAIT;
let timer = 0;
let hasEnded = false;

const source = () => document.querySelector('[data-stream]')?.dataset.stream ?? '';

// Whether the page is up to date, at the end of its head. It is said to screen readers too, since it changes rarely.
const say = (state, words) => {
  let sign = document.querySelector('.connection');
  if (!sign) {
    sign = document.createElement('span');
    sign.className = 'connection';
    sign.setAttribute('role', 'status');
    sign.setAttribute('data-js', '');
    document.querySelector('.bar')?.append(sign);
  }
  if (sign.dataset.jsState === state) return;
  sign.dataset.jsState = state;
  sign.textContent = words;
};

// HTML as elements; pieces of a picture belong into one, or the browser takes them for HTML.
const parse = (html, isPicture) => {
  const template = document.createElement('template');
  template.innerHTML = isPicture ? `<svg>${html}</svg>` : html;
  return [...(isPicture ? template.content.firstChild : template.content).children];
};

const replace = (id, html) => {
  const now = document.getElementById(id);
  if (!now) return;
  const [next] = parse(html, now instanceof SVGElement && now.localName !== 'svg');
  if (next) morph(now, document.adoptNode(next));
};

const append = (id, html) => {
  const list = document.getElementById(id);
  // A list that shows the past or another page of it does not grow.
  if (!list || !('newest' in list.dataset)) return;
  for (const next of parse(html, false)) {
    const now = next.id && document.getElementById(next.id);
    if (now) morph(now, document.adoptNode(next));
    else list.append(document.adoptNode(next));
  }
  grown.add(list);
};

// To ask where a list stands lays out the page, so it is asked once, when all that was added is drawn.
const grown = new Set();
const shorten = () => {
  const isTooLong = (list) => list.childElementCount > LONGEST_LIST && isAtEnd(list) && !list.querySelector('details[open]');
  const areTooLong = [...grown].some(isTooLong);
  grown.clear();
  if (areTooLong && !isBusy()) visit(location.href, { replace: true });
};

const STATES = /\bstate-\S+/;
const mark = (steps) => {
  if (Object.keys(steps).length === 0) return;
  for (const element of document.querySelectorAll('[data-step]')) {
    const status = steps[element.dataset.step];
    if (!status) continue;
    if (element.dataset.status && element.dataset.status !== status) element.dataset.status = status;
    const classes = element.getAttribute('class') ?? '';
    if (STATES.test(classes) && !element.classList.contains(`state-${status}`)) {
      element.setAttribute('class', classes.replace(STATES, `state-${status}`));
    }
  }
};

// Patches of a busy run come faster than people read: they are collected, and all that are there are shown at once.
let patches = [];
let shown = 0;
let showing = 0;
let isPausing = false;
// What a change costs is known when its frame is drawn.
const pause = (began, isMoving) => {
  isPausing = true;
  requestAnimationFrame(() => setTimeout(() => {
    if (!isMoving) shorten();
    setTimeout(() => { isPausing = false; }, Math.min(performance.now() - began, LONGEST_PAUSE));
  }));
};
const show = () => {
  showing = 0;
  const isMoving = document.querySelector('[data-js-moving]') !== null;
  if (isPausing || (isMoving && performance.now() < shown + LONGEST_HOLD)) {
    showing = setTimeout(show, PACE);
    return;
  }
  if (patches.length === 0) return;
  if (patches.some(({ reload }) => reload)) {
    if (isBusy()) {
      showing = setTimeout(show, PACE);
      return;
    }
    patches = [];
    location.reload();
    return;
  }
  // What a later patch replaces again need not be shown before.
  const newest = new Map();
  for (const each of patches) for (const id of Object.keys(each.replace ?? {})) newest.set(id, each);
  const began = performance.now();
  // If more comes than a few at a time can show, all of it is shown.
  const isSliced = isMoving && began < shown + 2 * LONGEST_HOLD;
  changing(() => {
    const steps = {};
    do {
      const next = patches.shift();
      for (const [id, html] of Object.entries(next.replace ?? {})) if (newest.get(id) === next) replace(id, html);
      for (const [id, html] of Object.entries(next.append ?? {})) append(id, html);
      Object.assign(steps, next.steps);
    } while (patches.length > 0 && !(isSliced && performance.now() > began + LONGEST_SLICE));
    mark(steps);
  });
  pause(began, isMoving);
  if (patches.length > 0) {
    showing = setTimeout(show, PACE);
    return;
  }
  shown = began;
  flush();
};
const patch = (data) => {
  patches.push(JSON.parse(data));
  showing ||= setTimeout(show, Math.max(0, shown + PACE - performance.now()));
};

// Text comes faster than frames: it is collected, and shown once a frame.
let said = [];
const live = (data) => {
  if (said.length === 0) requestAnimationFrame(flush);
  said.push(...JSON.parse(data));
};
const flush = () => {
  // What a patch has made must be there before text is added to it.
  if (patches.length > 0) return;
  const pieces = said;
  said = [];
  if (pieces.length === 0) return;
  for (const { address, kind, text } of pieces) {
    const place = document.querySelector(`[data-address="${CSS.escape(address)}"]`);
    if (!place) continue;
    if (kind === 'whole') place.textContent = text;
    else if (kind === 'text') place.append(text);
    else if (kind === 'status') place.dataset.jsStatus = text;
  }
};

const receive = ({ event, data, id }) => {
  if (event === 'patch') {
    if (said.length > 0) flush();
    patch(data);
  } else if (event === 'live') live(data);
  if (id !== null) lastId = id;
};

// Reads events as the standard says, from text that comes in pieces.
export const parser = (receive) => {
  let rest = '';
  let event = { event: 'message', data: [], id: null };
  const line = (text) => {
    if (text === '') {
      if (event.data.length > 0) receive({ ...event, data: event.data.join('\n') });
      else if (event.id !== null) receive({ event: 'none', data: '', id: event.id });
      event = { event: 'message', data: [], id: null };
      return;
    }
    const colon = text.indexOf(':');
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') event.data.push(value);
    else if (name === 'event' || name === 'id') event[name] = value;
  };
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    lines.forEach(line);
  };
};

const read = async (mine) => {
  const headers = lastId ? { 'Last-Event-ID': lastId } : {};
  const answer = await fetch(source(), {
    headers: { Accept: 'text/event-stream', ...headers },
    signal: mine.signal,
    cache: 'no-store',
  });
  if (answer.status === 401 || answer.status === 403) {
    hasEnded = true;
    say('signed-out', 'Signed out: run `updraft open`');
    return;
  }
  if (answer.status === 404) {
    hasEnded = true;
    say('over', 'The run is gone');
    return;
  }
  if (!answer.ok) throw new Error(`the server says ${answer.status}`);
  say('live', 'Live');
  const feed = parser((event) => {
    if (stream === mine) receive(event);
  });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    feed(value);
  }
};

const close = () => {
  clearTimeout(timer);
  const closing = stream;
  stream = null;
  closing?.abort();
};

const open = async () => {
  if (stream || hasEnded || !source() || document.hidden) return;
  const mine = new AbortController();
  stream = mine;
  const began = performance.now();
  try {
    await read(mine);
  } catch {
    // The server is away, or this page closed the stream: what follows tells them apart.
  }
  if (performance.now() - began > LONGEST_WAIT) wait = FIRST_WAIT;
  if (stream !== mine) return;
  stream = null;
  if (hasEnded) return;
  say('waiting', 'Reconnecting…');
  timer = setTimeout(open, wait);
  wait = Math.min(wait * 2, LONGEST_WAIT);
};

document.addEventListener('visibilitychange', () => {
  if (!document.hidden) {
    open();
    return;
  }
  close();
  if (source() && !hasEnded) say('hidden', 'Paused while hidden');
});

// Another view has another stream, and begins it from where the view was made.
let current = source();
document.addEventListener('page:visited', () => {
  if (source() === current) return;
  current = source();
  close();
  patches = [];
  said = [];
  lastId = '';
  hasEnded = false;
  wait = FIRST_WAIT;
  if (current) open();
  else say('past', '');
});
window.addEventListener('pagehide', close);
window.addEventListener('pageshow', open);
window.addEventListener('online', open);
open();
