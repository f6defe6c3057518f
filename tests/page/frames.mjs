// How smooth a graph of 1,000 steps is: the times between frames, from the browser's own trace.
//
// The run works while the graph is looked at, so patches arrive all the time; then the same is done when it has ended.
// Prints, for each thing people do, how many frames were drawn, the time between two of them, and the longest task that kept
// the page from reacting. At the end all is taken from the page that is not in view, which shows what the machine can do. A trace
// has the clock of the browser, not that of this program.

import { setTimeout } from 'node:timers/promises';

import { World } from './world.mjs';

const CATEGORIES = ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'disabled-by-default-devtools.timeline.frame'];
// One for each frame of an ordinary screen.
const BETWEEN_INPUTS = 16;
const SECONDS = Number(process.env.SECONDS ?? 4);

const share = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.round((sorted.length - 1) * part))] ?? 0;

// The frames that were drawn and the tasks of the page's main thread.
const read = (buffer) => {
  const { traceEvents } = JSON.parse(buffer.toString());
  const renderers = new Set(traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain').map(({ pid, tid }) => `${pid} ${tid}`));
  const busiest = new Map();
  for (const event of traceEvents) {
    const thread = `${event.pid} ${event.tid}`;
    if (event.ph === 'X' && event.name === 'RunTask' && renderers.has(thread)) busiest.set(thread, (busiest.get(thread) ?? 0) + event.dur);
  }
  const thread = [...busiest].sort(([, a], [, b]) => b - a)[0]?.[0] ?? '';
  const pid = Number(thread.split(' ')[0]);
  const frames = traceEvents.filter(({ name, pid: of }) => name === 'DrawFrame' && of === pid).map(({ ts }) => ts).sort((a, b) => a - b);
  const between = frames.slice(1).map((at, n) => (at - frames[n]) / 1000).sort((a, b) => a - b);
  const tasks = traceEvents
    .filter((event) => event.ph === 'X' && event.name === 'RunTask' && `${event.pid} ${event.tid}` === thread)
    .map(({ dur }) => dur / 1000)
    .sort((a, b) => a - b);
  const work = {};
  for (const event of traceEvents) {
    if (event.ph !== 'X' || `${event.pid} ${event.tid}` !== thread || !event.dur) continue;
    work[event.name] = (work[event.name] ?? 0) + event.dur / 1000;
  }
  return { between, tasks, work };
};

const figure = (value) => value.toFixed(1).padStart(8);
const measure = async (world, page, name, act) => {
  await world.browser.startTracing(page, { categories: CATEGORIES });
  const until = Date.now() + SECONDS * 1000;
  // A mouse does not wait until the page has drawn what it did last, so neither does this.
  const inputs = [];
  while (Date.now() < until) {
    const input = act();
    input.catch(() => {}); // It is reported below, when all is over.
    inputs.push(input);
    await setTimeout(BETWEEN_INPUTS);
  }
  await Promise.all(inputs);
  const { between, tasks, work } = read(await world.browser.stopTracing());
  const columns = [share(between, 0.5), share(between, 0.95), between.at(-1) ?? 0, tasks.at(-1) ?? 0].map(figure).join('');
  console.log(`${name.padEnd(42)}${String(between.length + 1).padStart(8)}${columns}`);
  if (process.env.VERBOSE) {
    const most = Object.entries(work).sort(([, a], [, b]) => b - a).slice(0, 12);
    console.log('    ' + most.map(([what, ms]) => `${what} ${ms.toFixed(0)} ms`).join(', '));
  }
};

const world = await World.make({ model: 'large' });
try {
  const page = await world.page();
  await page.goto(world.entry);
  await page.waitForURL(`${world.address}/`);
  await page.goto(`${world.address}/new`);
  await page.getByLabel('What do you want done?').fill('Do very much');
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL(/\/runs\//);
  await page.locator('.step-row[data-step=t999]').waitFor({ timeout: 60_000 });
  const frame = await page.locator('#graph-frame').boundingBox();
  const middle = { x: frame.x + frame.width / 2, y: frame.y + frame.height / 2 };
  let turn = 0;
  const pan = async () => {
    const angle = turn++ / 10;
    await page.mouse.move(middle.x + 200 * Math.cos(angle), middle.y + 200 * Math.sin(angle));
  };
  const panned = async (act) => {
    await page.mouse.move(middle.x + 200, middle.y);
    await page.mouse.down();
    await act();
    await page.mouse.up();
  };
  const zoom = async () => {
    await page.mouse.wheel(0, turn++ % 80 < 40 ? 15 : -15);
  };
  const zoomed = async (act) => {
    await page.mouse.move(middle.x, middle.y);
    await page.keyboard.down('Control');
    await act();
    await page.keyboard.up('Control');
  };
  const wait = async () => {};
  console.log(`${''.padEnd(42)}${'frames'.padStart(8)}${['p50 ms', 'p95 ms', 'max ms', 'task ms'].map((word) => word.padStart(8)).join('')}`);
  const both = async (when) => {
    await panned(() => measure(world, page, `panning, ${when}`, pan));
    await zoomed(() => measure(world, page, `zooming, ${when}`, zoom));
  };
  await measure(world, page, 'only looking, while it works', wait);
  await both('while it works');
  console.log(`(${await page.locator('.step-row[data-status=completed]').count()} of 1,000 steps have ended)`);
  world.model.hurry();
  await page.locator('#run-head[data-status=done]').waitFor({ timeout: 300_000 });
  await page.waitForTimeout(2_000);
  await both('when it has ended');
  await page.getByRole('button', { name: 'Fit: show the whole graph' }).click();
  await both('the whole graph in view');
  await page.reload();
  await page.waitForTimeout(2_000);
  await page.locator('#graph-frame').evaluate((frame) => {
    const box = frame.getBoundingClientRect();
    const isOut = ({ left, top, right, bottom }) => right < box.left || left > box.right || bottom < box.top || top > box.bottom;
    for (const one of [...frame.querySelectorAll('.node')].filter((node) => isOut(node.getBoundingClientRect()))) one.remove();
    for (const edge of frame.querySelectorAll('.edge')) edge.remove();
    document.querySelector('.steps').replaceChildren();
  });
  await both('with nothing but what is in view');
  if (world.faults.length > 0) throw new Error(world.faults.join('\n'));
} finally {
  await world.end();
}
