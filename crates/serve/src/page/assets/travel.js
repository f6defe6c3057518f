// Time travel: a slider over the positions of the journal shows the page as it was, without loading it for each tick.
//
// The slider is the range of the form `.slider`; the form works without this module too, with its button.

import { visit } from './visit.js';

let wanted = null;
let isBusy = false;

// One question at a time, always the newest: a quick drag over a thousand positions asks for few of them.
const follow = async () => {
  if (isBusy) return;
  isBusy = true;
  while (wanted !== null) {
    const url = wanted;
    wanted = null;
    await visit(url, { replace: true });
  }
  isBusy = false;
};

const target = (slider) => {
  const url = new URL(slider.form.getAttribute('action'), location.href);
  for (const [name, value] of new FormData(slider.form)) url.searchParams.set(name, value);
  // At its end the page is live again.
  if (slider.value === slider.max) url.searchParams.delete(slider.name);
  return url.href;
};

document.addEventListener('input', (event) => {
  const slider = event.target;
  if (!slider.matches?.('.slider input[type=range]')) return;
  const shown = slider.form.querySelector('output');
  if (shown) shown.textContent = `${slider.value} / ${slider.max}`;
  wanted = target(slider);
  follow();
});
