// Pans and zooms a run's graph. Without this module the graph scrolls in its frame.
//
// The picture keeps its size, and the layer around it is moved by a CSS transform: to change the picture's viewBox or its own
// transform would lay out and paint all of it again, several times a frame's time for a thousand steps. While the layer moves,
// the browser only shifts what is painted already.
// Drag to pan, Ctrl and the wheel or two fingers to zoom; with the keyboard + − 0 and the arrow keys. The view stays when
// the graph changes; as long as nobody has moved it, it shows the whole graph.

import { Labels } from './labels.js';

const CLOSEST = 2;
// Below this share of its size text cannot be read: a large graph opens at its selected or running step instead.
const READABLE = 0.5;
// Below this share text is only specks.
const SPECKS = 0.3;

// A graph with more steps is drawn without transitions and animations.
const LARGE = 200;

const views = new WeakMap();

const layerOf = (svg) => svg.parentElement;
const frameOf = (svg) => layerOf(svg).parentElement;

const sizeOf = (svg) => {
  const box = frameOf(svg).getBoundingClientRect();
  return { width: Math.max(box.width, 1), height: Math.max(box.height, 1) };
};

const wholeOf = (svg) => ({ width: Number(svg.dataset.width), height: Number(svg.dataset.height) });

const boxesOf = (svg) => [...svg.querySelectorAll('.node')].map((node) => {
  const { x, y, width, height } = node.querySelector('.frame');
  const [left, top] = [x.baseVal.value, y.baseVal.value];
  return { node, left, top, right: left + width.baseVal.value, bottom: top + height.baseVal.value };
});

// Only steps in sight, or near it, have text. Which ones is looked at again when the sight leaves the near area or has become much
// smaller than that.
const label = (svg, view) => {
  // Another view may have come since this was asked for.
  if (!svg.isConnected) return;
  const { width, height } = sizeOf(svg);
  const [wide, high] = [width / view.scale, height / view.scale];
  const [right, bottom] = [view.x + wide, view.y + high];
  const { near } = view;
  const isWithin = near && view.x >= near.left && view.y >= near.top && right <= near.right && bottom <= near.bottom;
  const isSpecks = view.scale < SPECKS;
  if (isWithin && wide > near.wide * 0.5 && isSpecks === near.isSpecks) return;
  const [beside, above] = [wide * 0.4, high * 0.4];
  view.near = { left: view.x - beside, top: view.y - above, right: right + beside, bottom: bottom + above, wide, isSpecks };
  view.boxes ??= boxesOf(svg);
  const isNear = (box) =>
    box.right > view.near.left && box.left < view.near.right && box.bottom > view.near.top && box.top < view.near.bottom;
  view.labels.show(isSpecks ? [] : view.boxes.filter(isNear));
};

const draw = (svg, view) => {
  if (view.frame) return;
  const layer = layerOf(svg);
  if (!layer.hasAttribute('data-js-moving')) layer.setAttribute('data-js-moving', '');
  clearTimeout(view.rest);
  // At rest the picture is painted anew, sharp at its scale.
  view.rest = setTimeout(() => layer.removeAttribute('data-js-moving'), 500);
  view.frame = requestAnimationFrame(() => {
    view.frame = 0;
    label(svg, view);
    const [x, y] = [-view.x * view.scale, -view.y * view.scale];
    layer.style.transform = `translate(${x}px, ${y}px) scale(${view.scale})`;
  });
};

const fit = (svg, view, { whole = false } = {}) => {
  const graph = wholeOf(svg);
  const { width, height } = sizeOf(svg);
  const all = Math.min(1, width / graph.width, height / graph.height);
  view.moved = whole && all < READABLE;
  view.scale = whole ? all : Math.max(all, READABLE);
  const seen = { width: width / view.scale, height: height / view.scale };
  view.x = (graph.width - seen.width) / 2;
  view.y = (graph.height - seen.height) / 2;
  if (all < view.scale) {
    const card = svg.querySelector('.node.selected .frame, .node.state-waiting .frame, .node.state-running .frame, .frame');
    const at = card && { x: card.x.baseVal.value, y: card.y.baseVal.value };
    if (at && graph.width > seen.width) view.x = Math.min(Math.max(0, at.x - seen.width / 3), graph.width - seen.width);
    if (at && graph.height > seen.height) view.y = Math.min(Math.max(0, at.y - seen.height / 2.2), graph.height - seen.height);
  }
  draw(svg, view);
};

const zoom = (svg, view, factor, at) => {
  const { width, height } = sizeOf(svg);
  const point = at ?? { x: width / 2, y: height / 2 };
  const graph = wholeOf(svg);
  const furthest = Math.min(READABLE, width / graph.width, height / graph.height) / 1.5;
  const scale = Math.min(Math.max(view.scale * factor, furthest), CLOSEST);
  view.x += point.x / view.scale - point.x / scale;
  view.y += point.y / view.scale - point.y / scale;
  view.scale = scale;
  view.moved = true;
  const frame = frameOf(svg);
  if (!frame.hasAttribute('data-js-zooming')) frame.setAttribute('data-js-zooming', '');
  clearTimeout(view.zoomed);
  view.zoomed = setTimeout(() => frame.removeAttribute('data-js-zooming'), 150);
  draw(svg, view);
};

const pan = (svg, view, dx, dy) => {
  view.x -= dx / view.scale;
  view.y -= dy / view.scale;
  view.moved = true;
  draw(svg, view);
};

const local = (svg, event) => {
  const box = frameOf(svg).getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
};

const watchPointers = (svg, view) => {
  const frame = frameOf(svg);
  const pointers = new Map();
  let travelled = 0;
  const move = (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    // It was let go where nobody could see it, outside the window.
    if (!(event.buttons & 1)) {
      release(event);
      return;
    }
    const now = local(svg, event);
    const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
    pointers.set(event.pointerId, now);
    travelled += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (travelled < 5) return;
    // A press without movement stays a click on the link below.
    if (!frame.hasPointerCapture(event.pointerId)) frame.setPointerCapture(event.pointerId);
    if (!frame.hasAttribute('data-js-dragged')) frame.setAttribute('data-js-dragged', '');
    if (others.length === 0) {
      pan(svg, view, now.x - before.x, now.y - before.y);
      return;
    }
    const distance = (point) => Math.hypot(point.x - others[0].x, point.y - others[0].y);
    zoom(svg, view, distance(now) / Math.max(distance(before), 1), others[0]);
  };
  // The first movement may lead out of the frame already, so the whole page is listened to while something is pressed.
  const listen = (change) => {
    document[change]('pointermove', move);
    document[change]('pointerup', release);
    document[change]('pointercancel', release);
  };
  const release = (event) => {
    if (!pointers.delete(event.pointerId) || pointers.size > 0) return;
    frame.removeAttribute('data-js-dragged');
    listen('removeEventListener');
  };
  frame.addEventListener('pointerdown', (event) => {
    if (pointers.size === 0) travelled = 0;
    if (event.button !== 0 || event.target.closest('.graph-tools')) return;
    pointers.set(event.pointerId, local(svg, event));
    listen('addEventListener');
  });
  frame.addEventListener('dragstart', (event) => event.preventDefault());
  frame.addEventListener('click', (event) => {
    // A click of the keyboard has no number: it is meant, whatever was dragged before.
    if (travelled < 5 || event.detail === 0) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
};

const watchKeys = (svg, view) => {
  const step = 80;
  const actions = {
    '+': () => zoom(svg, view, 1.25),
    '=': () => zoom(svg, view, 1.25),
    '-': () => zoom(svg, view, 0.8),
    0: () => fit(svg, view, { whole: true }),
    ArrowLeft: () => pan(svg, view, step, 0),
    ArrowRight: () => pan(svg, view, -step, 0),
    ArrowUp: () => pan(svg, view, 0, step),
    ArrowDown: () => pan(svg, view, 0, -step),
  };
  svg.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
};

// A link that gets the focus by the keyboard is moved into view.
const reveal = (svg, view, node) => {
  const card = node.querySelector('.frame');
  if (!card || !node.matches(':focus-visible')) return;
  const { width, height } = sizeOf(svg);
  const seen = { width: width / view.scale, height: height / view.scale };
  const [x, y] = [card.x.baseVal.value, card.y.baseVal.value];
  const [right, bottom] = [x + card.width.baseVal.value, y + card.height.baseVal.value];
  if (x >= view.x && right <= view.x + seen.width && y >= view.y && bottom <= view.y + seen.height) return;
  view.x = (x + right - seen.width) / 2;
  view.y = (y + bottom - seen.height) / 2;
  view.moved = true;
  draw(svg, view);
  // The browser has scrolled the page to where the step was.
  requestAnimationFrame(() => frameOf(svg).scrollIntoView({ block: 'nearest' }));
};

const tools = (svg, view) => {
  const bar = document.createElement('div');
  bar.className = 'graph-tools';
  bar.setAttribute('data-js', '');
  const add = (label, sign, action) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = sign;
    button.setAttribute('aria-label', label);
    button.title = label;
    button.addEventListener('click', action);
    bar.append(button);
  };
  add('Zoom out', '−', () => zoom(svg, view, 0.8));
  add('Fit: show the whole graph', 'Fit', () => fit(svg, view, { whole: true }));
  add('Zoom in', '+', () => zoom(svg, view, 1.25));
  layerOf(svg).after(bar);
};

const begin = (svg) => {
  const view = {
    x: 0, y: 0, scale: 1, moved: false, frame: 0, rest: 0, zoomed: 0, size: '', boxes: null, near: null, labels: new Labels(svg),
  };
  views.set(svg, view);
  const frame = frameOf(svg);
  layerOf(svg).setAttribute('data-js-view', '');
  watchPointers(svg, view);
  watchKeys(svg, view);
  tools(svg, view);
  frame.setAttribute('data-js-frame', '');
  frame.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(svg, view, Math.exp(-event.deltaY / 300), local(svg, event));
  }, { passive: false });
  // Whoever moves the pointer has zoomed enough, and may press a step next.
  frame.addEventListener('pointermove', () => frame.removeAttribute('data-js-zooming'), { passive: true });
  svg.addEventListener('focusin', (event) => {
    const node = event.target.closest('.node');
    if (node) reveal(svg, view, node);
  });
  new ResizeObserver(() => (view.moved ? draw(svg, view) : fit(svg, view))).observe(frame);
};

// Nodes are replaced one by one while a run works; edges follow the states of their ends.
const coloured = new WeakMap();
const colourEdges = (svg) => {
  const states = new Map();
  for (const node of svg.querySelectorAll('.node')) states.set(node.dataset.step, node.getAttribute('class'));
  const has = (step, word) => states.get(step)?.includes(word) ?? false;
  for (const edge of svg.querySelectorAll('.edge')) {
    const { from, to } = edge.dataset;
    const isDone = has(from, 'state-completed');
    const isActive = isDone && (has(to, 'state-running') || has(to, 'state-waiting'));
    const isCritical = has(from, ' critical') && has(to, ' critical');
    // Most stay as they are, and asking an element for its classes takes longer than this.
    const colour = `${isDone} ${isActive} ${isCritical} ${edge.getAttribute('class')}`;
    if (coloured.get(edge) === colour) continue;
    edge.classList.toggle('done', isDone);
    edge.classList.toggle('active', isActive);
    edge.classList.toggle('critical', isCritical);
    coloured.set(edge, `${isDone} ${isActive} ${isCritical} ${edge.getAttribute('class')}`);
  }
};

const look = () => {
  for (const svg of document.querySelectorAll('svg[data-graph]')) {
    if (!views.has(svg)) begin(svg);
    colourEdges(svg);
    svg.toggleAttribute('data-js-large', svg.querySelectorAll('.node').length > LARGE);
    const view = views.get(svg);
    const size = `${svg.dataset.width} ${svg.dataset.height}`;
    // Steps that a new plan has put elsewhere may be in sight now.
    view.boxes = null;
    view.near = null;
    if (size !== view.size && !view.moved) fit(svg, view);
    else requestAnimationFrame(() => label(svg, view));
    view.size = size;
  }
};

document.addEventListener('page:changed', look);
look();
