// The keyboard: j and k go from step to step, a and d answer the question that is looked at, ? shows all keys.
//
// An answer is given only while the focus is in its form: the first press brings the focus there, so that nothing is
// approved unseen.

const isTyping = (element) =>
  element.closest?.('input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]');

const steps = () => {
  const listed = [...document.querySelectorAll('.steps a.step')];
  return listed.length > 0 ? listed : [...document.querySelectorAll('svg a[data-step]')];
};

const goTo = (by) => {
  const all = steps();
  if (all.length === 0) return;
  const now = all.findIndex((link) => link.getAttribute('aria-current') === 'true');
  const next = now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(now + by, 0), all.length - 1);
  all[next].dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, view: window }));
};

const answer = (button) => {
  const forms = [...document.querySelectorAll('form.approval')].filter((form) => form.checkVisibility());
  const focused = forms.find((form) => form.contains(document.activeElement));
  if (focused) {
    focused.querySelector(button)?.click();
    return;
  }
  const first = forms[0]?.querySelector(button);
  first?.focus();
  first?.closest('.question, .card, form').scrollIntoView({ block: 'nearest' });
};

const KEYS = [
  ['j', 'next step'],
  ['k', 'step before'],
  ['a', 'approve; the first press shows the question'],
  ['d', 'deny; the first press shows the question'],
  ['/', 'search'],
  ['+ − 0', 'in the graph: closer, further, all of it'],
  ['← ↑ ↓ →', 'in the graph: move it'],
  ['Esc', 'interrupt the run, after asking'],
  ['?', 'these keys'],
];

const dialog = (label, ...content) => {
  const box = document.createElement('dialog');
  box.setAttribute('data-js', '');
  box.setAttribute('aria-label', label);
  const heading = document.createElement('h2');
  heading.textContent = label;
  box.append(heading, ...content);
  box.addEventListener('close', () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
};

const button = (words, className, action) => {
  const one = document.createElement('button');
  one.type = 'button';
  one.className = className;
  one.textContent = words;
  one.addEventListener('click', action);
  return one;
};

const help = () => {
  if (document.querySelector('dialog[open]')) return;
  const list = document.createElement('dl');
  list.className = 'keys';
  for (const [key, does] of KEYS) {
    const [term, words] = [document.createElement('dt'), document.createElement('dd')];
    const keyboard = document.createElement('kbd');
    keyboard.textContent = key;
    term.append(keyboard);
    words.textContent = does;
    list.append(term, words);
  }
  const box = dialog('Keys', list, button('Close', '', () => box.close()));
};

const interrupt = () => {
  const stop = document.querySelector('[data-action=cancel]');
  if (!stop || stop.disabled || document.querySelector('dialog[open]')) return;
  const words = document.createElement('p');
  words.textContent = `${stop.textContent.trim()} this run? What is done stays done.`;
  const row = document.createElement('p');
  row.className = 'actions';
  const box = dialog('Interrupt', words, row);
  row.append(
    button(stop.textContent.trim(), 'danger', () => {
      box.close();
      stop.click();
    }),
    button('Let it work', '', () => box.close()),
  );
};

const search = () => document.querySelector('input[type=search]')?.focus();

const ACTIONS = {
  j: () => goTo(1),
  k: () => goTo(-1),
  a: () => answer('.allow'),
  d: () => answer('.deny'),
  '/': search,
  '?': help,
  Escape: interrupt,
};

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape' && isTyping(event.target)) {
    event.target.blur();
    return;
  }
  if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
  const own = ACTIONS[event.key];
  if (!own) return;
  own();
  event.preventDefault();
});
