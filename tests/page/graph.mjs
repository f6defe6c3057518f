// The graph under people's hands: moved and zoomed with the keyboard and the pointer, and left as they put it while the run goes on.
//
// The view is read from the transform of the layer that holds the picture, as the browser has it after the next frame.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';

import { World, check } from './world.mjs';

let world;
let page;

before(async () => {
  world = await World.make();
  page = await world.page();
  await page.goto(world.entry);
  await page.waitForURL(`${world.address}/`);
});
after(() => world?.end());
afterEach(() => {
  world.model.release();
  assert.deepEqual(world.faults.splice(0), []);
});

const start = async (on = page) => {
  await on.goto(`${world.address}/new`);
  await on.getByLabel('What do you want done?').fill('Analyse the sales');
  await on.getByRole('button', { name: 'Start' }).click();
  await on.waitForURL(/\/runs\//);
};
const status = (word) => page.locator(`#run-head[data-status=${word}]`).waitFor();
const node = (name) => page.locator(`svg.graph a[data-step=${name}]`);
// Never minus zero.
const round = (value) => Math.round(value * 100) / 100 + 0;

// Where the picture is and how large, once all that was asked for is drawn.
const view = () => page.locator('.graph-layer').evaluate((layer) => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const { e, f, a } = new DOMMatrix(getComputedStyle(layer).transform);
    done({ x: e, y: f, scale: a });
  }));
}));
const moved = (from, to) => ({ x: round(to.x - from.x), y: round(to.y - from.y), scale: round(to.scale / from.scale) });

// The steps that are not entirely inside the frame.
const hidden = () => page.locator('#graph-frame').evaluate((frame) => {
  const box = frame.getBoundingClientRect();
  const isOut = ({ left, top, right, bottom }) =>
    left < box.left - 1 || top < box.top - 1 || right > box.right + 1 || bottom > box.bottom + 1;
  return [...frame.querySelectorAll('.node')].filter((one) => isOut(one.querySelector('.frame').getBoundingClientRect()))
    .map((one) => one.dataset.step);
});

// Presses at a point, moves by so many pixels in several steps, and lets go.
const drag = async (from, dx, dy) => {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(from.x + dx, from.y + dy, { steps: 6 });
  await page.mouse.up();
};
const middle = async (locator) => {
  const box = await locator.boundingBox();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
};
// A place of the frame where no step is.
const corner = async () => {
  const box = await page.locator('#graph-frame').boundingBox();
  return { x: box.x + 12, y: box.y + box.height - 12 };
};

test('the graph is moved with the arrow keys, zoomed with + and -, and shown whole with 0', async () => {
  await start();
  await status('done');
  await node('profile').focus();
  const first = await view();
  const press = async (key) => {
    const from = await view();
    await page.keyboard.press(key);
    return moved(from, await view());
  };
  assert.deepEqual(await press('ArrowRight'), { x: -80, y: 0, scale: 1 });
  assert.deepEqual(await press('ArrowDown'), { x: 0, y: -80, scale: 1 });
  assert.deepEqual(await press('ArrowLeft'), { x: 80, y: 0, scale: 1 });
  assert.deepEqual(await press('ArrowUp'), { x: 0, y: 80, scale: 1 });
  assert.equal((await press('+')).scale, 1.25);
  assert.equal((await press('-')).scale, 0.8);
  // Keys for the graph neither scroll the page nor choose a step.
  assert.equal(await page.evaluate(() => window.scrollY), 0);
  assert.equal(new URL(page.url()).searchParams.get('step'), null);
  for (const key of ['+', '+', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft']) await press(key);
  assert.notDeepEqual(await hidden(), []);
  await press('0');
  assert.deepEqual(await hidden(), []);
  assert.deepEqual(moved(first, await view()), { x: 0, y: 0, scale: 1 });
  // A step that Tab leads to is brought into view.
  for (const key of ['+', '+', '+', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight']) await press(key);
  await page.keyboard.press('Tab');
  await view();
  const focused = await page.evaluate(() => document.activeElement.dataset.step);
  assert.ok(focused && focused !== 'profile', `the focus is at ${focused}`);
  assert.ok(!(await hidden()).includes(focused), `${focused} has the focus and is not in view`);
  const frame = await page.locator('#graph-frame').boundingBox();
  assert.ok(frame.y >= 0 && frame.y + frame.height <= page.viewportSize().height, 'the graph was scrolled out of the window');
});

test('the graph is dragged, a press without movement follows the link, and Fit shows everything', async () => {
  await start();
  await status('done');
  const first = await view();
  await drag(await corner(), 120, -60);
  assert.deepEqual(moved(first, await view()), { x: 120, y: -60, scale: 1 });
  // Dragged at a step, it moves as well, and the step is not opened.
  const second = await view();
  await drag(await middle(node('profile')), -40, 30);
  assert.deepEqual(moved(second, await view()), { x: -40, y: 30, scale: 1 });
  assert.equal(new URL(page.url()).searchParams.get('step'), null);
  // Nor does the browser carry the link away: nothing is dragged when the button is up.
  const third = await view();
  await page.mouse.move(400, 400);
  assert.deepEqual(await view(), third);

  const target = await middle(node('by_month'));
  await page.mouse.click(target.x, target.y);
  await page.locator('#inspector[data-step=by_month]').waitFor();
  assert.equal(new URL(page.url()).searchParams.get('step'), 'by_month');

  await page.getByRole('button', { name: 'Zoom in' }).click();
  await page.getByRole('button', { name: 'Zoom in' }).click();
  // Out of the frame with the first movement, and let go there: it was moved, and does not stick to the pointer.
  const close = await view();
  await drag(await corner(), -300, 100);
  const away = await view();
  assert.deepEqual(moved(close, away), { x: -300, y: 100, scale: 1 });
  await page.mouse.move(600, 400, { steps: 3 });
  assert.deepEqual(await view(), away);
  assert.notDeepEqual(await hidden(), []);
  // After a drag, Enter at a step works, and so do the buttons.
  await node('by_region').focus();
  await page.keyboard.press('Enter');
  await page.locator('#inspector[data-step=by_region]').waitFor();
  await drag(await corner(), -300, 100);
  await page.getByRole('button', { name: 'Fit: show the whole graph' }).click();
  await view();
  assert.deepEqual(await hidden(), []);
  // With Ctrl the wheel zooms at the pointer: what is there stays there.
  const [whole, point] = [await view(), await middle(node('report'))];
  await page.mouse.move(point.x, point.y);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -120);
  await page.keyboard.up('Control');
  // The event comes on its own time.
  while ((await view()).scale === whole.scale);
  assert.equal(moved(whole, await view()).scale, 1.49);
  const now = await middle(node('report'));
  assert.ok(Math.hypot(now.x - point.x, now.y - point.y) < 2, `${now.x}, ${now.y} was ${point.x}, ${point.y}`);
});

test('the words of steps stand over the picture, and follow what happens', async () => {
  world.model.hold('Revenue by region');
  await start();
  const words = page.locator('.step-text.state-running', { hasText: 'Revenue by region' });
  await words.waitFor();
  assert.match(await words.locator('.meta').textContent(), /^running/);
  // Each at its step, and none twice.
  const [text, step] = [await words.boundingBox(), await node('by_region').locator('.frame').boundingBox()];
  assert.ok(Math.abs(text.x - step.x) < 2 && text.y >= step.y - 2 && text.y + text.height <= step.y + step.height + 2);
  assert.equal(await page.locator('.step-text').count(), await page.locator('svg.graph .node').count());
  assert.equal(await page.locator('svg.graph text').first().isVisible(), false);
  world.model.release();
  await status('done');
  await page.locator('.step-text.state-completed', { hasText: 'Revenue by region' }).waitFor();
  assert.equal(await page.locator('.step-text.state-running').count(), 0);
  // Steps far away have none, and get them when they come into sight.
  const all = await page.locator('.step-text').count();
  for (let times = 0; times < 4; times += 1) await drag(await corner(), 700, 0);
  await page.waitForFunction((many) => document.querySelectorAll('.step-text').length < many, all);
  await page.getByRole('button', { name: 'Fit: show the whole graph' }).click();
  await page.waitForFunction((many) => document.querySelectorAll('.step-text').length === many, all);
});

test('a graph that was moved stays where it is while its steps change', async () => {
  world.model.hold('Revenue by region', 'Put the figures together');
  await start();
  await page.locator('svg.graph a[data-step=by_region].state-running').waitFor();
  await drag(await corner(), 90, -45);
  await page.getByRole('button', { name: 'Zoom in' }).click();
  const placed = await view();
  world.model.release('Revenue by region');
  await page.locator('svg.graph a[data-step=report].state-running').waitFor();
  assert.deepEqual(await view(), placed);
  world.model.release();
  await status('done');
  await page.locator('svg.graph a[data-step=answer].state-completed').waitFor();
  assert.deepEqual(await view(), placed);
});

test('changes wait for the rest of a graph that is moved, but not for long', async () => {
  // Of the body: the graph itself comes to rest when it is drawn.
  const moving = (is) => page.locator('body').evaluate((body, on) => body.toggleAttribute('data-js-moving', on), is);
  const isReported = () => page.locator('svg.graph a[data-step=report].state-completed').count();
  world.model.hold('Revenue by region');
  await start();
  await page.locator('svg.graph a[data-step=by_region].state-running').waitFor();
  // Time stands still for the page: it would wait for ever.
  await page.evaluate(() => { performance.now = () => 0; });
  await moving(true);
  world.model.release();
  const other = await world.page();
  await other.goto(page.url());
  await other.locator('#run-head[data-status=done]').waitFor();
  assert.equal(await isReported(), 0);
  await moving(false);
  await status('done');
  assert.equal(await isReported(), 1);
  await other.close();

  world.model.hold('Revenue by region');
  await start();
  await page.locator('svg.graph a[data-step=by_region].state-running').waitFor();
  await moving(true);
  world.model.release();
  await status('done');
});

test('things move only for those who have not asked for less motion', async () => {
  // Of the step that is held back: the others pass by.
  const sign = (on) => on.locator('svg.graph a[data-step=by_region].state-running .sign').first();
  const animation = (on) => sign(on).evaluate((one) => getComputedStyle(one).animationName);
  world.model.hold('Revenue by region');
  const context = await world.browser.newContext({
    viewport: { width: 1440, height: 900 }, reducedMotion: 'no-preference', storageState: await world.context.storageState(),
  });
  context.setDefaultTimeout(15_000);
  try {
    const lively = await world.page(context);
    await start(lively);
    await sign(lively).waitFor();
    assert.equal(await animation(lively), 'breathe');
    await check(lively);
    await page.goto(lively.url());
    await sign(page).waitFor();
    assert.equal(await animation(page), 'none');
    world.model.release();
    await lively.locator('#run-head[data-status=done]').waitFor();
    await lively.locator('svg.graph a[data-step=answer].state-completed').waitFor();
    assert.equal(await lively.locator('svg.graph a.state-running').count(), 0);
    // Whatever has faded in or out is at its end, and can be read.
    await lively.evaluate(() => Promise.allSettled(document.getAnimations()
      .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).map(({ finished }) => finished)));
    await check(lively);
  } finally {
    await context.close();
  }
});
