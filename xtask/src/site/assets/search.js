// The search: the index is loaded when somebody begins to type. Without this script the box stays hidden.
const script = document.currentScript;
const root = script.dataset.root;
const box = document.getElementById('site-search');
const input = document.getElementById('site-words');
const found = document.getElementById('site-found');
const most = 12;
const mostOfPage = 3;
let asked = false;

box.hidden = false;
input.addEventListener('focus', load);
input.addEventListener('input', show);
box.addEventListener('keydown', move);
box.addEventListener('focusout', (event) => {
  if (!box.contains(event.relatedTarget)) found.hidden = true;
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target.closest('input, textarea')) return;
  event.preventDefault();
  input.focus();
});

function load() {
  if (asked) return show();
  asked = true;
  const index = document.createElement('script');
  index.src = `${root}search-index.js`;
  index.addEventListener('load', show);
  document.head.append(index);
}

function show() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.replaceChildren();
  found.hidden = words.length === 0 || !window.searchIndex;
  if (found.hidden) return;
  const hits = window.searchIndex.map((entry) => ({ entry, score: score(entry, words) })).filter((hit) => hit.score > 0);
  hits.sort((one, other) => other.score - one.score);
  const shown = {};
  const few = hits.filter(({ entry: [page] }) => (shown[page] = (shown[page] ?? 0) + 1) <= mostOfPage);
  for (const { entry } of few.slice(0, most)) found.append(row(entry, words));
  if (hits.length === 0) {
    const none = document.createElement('li');
    none.textContent = 'Nothing found';
    found.append(none);
  }
}

// Every word must be somewhere; one in a title counts for more.
function score([page, section, , text], words) {
  let sum = 0;
  for (const word of words) {
    const hit = (where, weight) => (where.toLowerCase().includes(word) ? weight : 0);
    const best = hit(section, 8) + hit(page, 4) + hit(text, 1);
    if (best === 0) return 0;
    sum += best;
  }
  return sum;
}

function row([page, section, address, text], words) {
  const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 40);
  const link = document.createElement('a');
  link.href = root + address;
  const title = document.createElement('strong');
  title.textContent = section === page ? page : `${page}: ${section}`;
  const piece = document.createElement('span');
  piece.textContent = (at > 0 ? '…' : '') + text.slice(at, at + 120);
  link.append(title, piece);
  const item = document.createElement('li');
  item.append(link);
  return item;
}

// Enter opens the first that was found, arrow keys go through all, Escape leaves them.
function move(event) {
  const links = [input, ...found.querySelectorAll('a')];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === 'Enter' && event.target === input) {
    found.querySelector('a')?.click();
  } else if (event.key === 'Escape') {
    found.hidden = true;
    input.focus();
  } else if (step) {
    event.preventDefault();
    const at = links.indexOf(document.activeElement) + step;
    links[Math.min(Math.max(at, 0), links.length - 1)].focus();
  }
}
