// Prints Lighthouse's scores of every kind of page: performance, accessibility, best practices. Fails if one is below 100.
//
// Runs have come to rest before their pages are measured: the page of one that goes on keeps a stream open, and Lighthouse
// waits for pages to be quiet. A page below 100 is measured twice more, since other programs may have had the processor.

import { createRequire } from 'node:module';
import path from 'node:path';

import { World } from './world.mjs';

const require = createRequire(path.join(process.env.LIGHTHOUSE, 'node_modules', 'x.js'));
const { default: lighthouse } = await import(require.resolve('lighthouse'));
const PORT = 9322;
const TRIES = 3;

// Starts a run from the form, and gives its address when it rests.
const start = async (page, address, rests, { planFirst = false } = {}) => {
  await page.goto(`${address}/new`);
  await page.getByLabel('What do you want done?').fill('Analyse the sales');
  if (planFirst) await page.getByLabel('Show me the plan').check();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator(rests).first().waitFor();
  return new URL(page.url()).pathname;
};

const measure = async (url, extraHeaders) => {
  const onlyCategories = ['performance', 'accessibility', 'best-practices'];
  const { lhr } = await lighthouse(url, { port: PORT, output: 'json', logLevel: 'error', extraHeaders, onlyCategories });
  if (lhr.runtimeError) return { scores: [], low: [lhr.runtimeError.code], isFull: false };
  const scores = Object.values(lhr.categories).map(({ title, score }) => ({ title, score: Math.round(score * 100) }));
  const isLow = ({ score, scoreDisplayMode }) => score !== null && score < 0.9 && scoreDisplayMode !== 'informative';
  const low = Object.values(lhr.audits).filter(isLow).map(({ id }) => id);
  return { scores, low, isFull: scores.length === onlyCategories.length && scores.every(({ score }) => score === 100) };
};

const world = await World.make({ browserArguments: [`--remote-debugging-port=${PORT}`] });
let below = 0;
try {
  const page = await world.page();
  await page.goto(world.entry);
  await page.waitForURL(`${world.address}/`);
  const done = '#run-head[data-status=done]';
  const [one, other] = [await start(page, world.address, done), await start(page, world.address, done)];
  const planned = await start(page, world.address, 'a.edit-plan', { planFirst: true });
  await world.run('schedule', '0 0 1 1 *', 'What has the year brought?', '--name', 'yearly');
  await world.run('ingest', 'sales.csv');
  // The browser needs a tab, but one that loads nothing meanwhile.
  await page.goto('about:blank');
  const [a, b] = [one, other].map((run) => run.split('/')[2]);
  const places = [
    '/', '/new', '/inbox', one, `${one}?view=timeline`, `${one}?view=events`, `${one}?step=profile`, `${one}?at=20`, `${one}/fork?at=20`,
    `${planned}/plan`, `/compare?a=${a}&b=${b}`, '/knowledge', '/memory', '/tools', '/tools/read_file', '/schedules', '/settings', '/doctor',
  ];
  const cookies = await world.context.cookies();
  const extraHeaders = { Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') };
  for (const place of places) {
    let measured;
    for (let tried = 0; tried < TRIES && !measured?.isFull; tried += 1) measured = await measure(world.address + place, extraHeaders);
    const { scores, low, isFull } = measured;
    if (!isFull) below += 1;
    const words = scores.map(({ title, score }) => `${title} ${score}`).join(', ');
    console.log(`${isFull ? 'full ' : 'BELOW'} ${place}: ${words}${low.length > 0 ? ` (below 90: ${low.join(', ')})` : ''}`);
  }
  console.log(below === 0 ? `all of ${places.length} pages have 100 in each` : `${below} of ${places.length} pages are below 100`);
} finally {
  await world.end();
}
process.exitCode = below === 0 ? 0 : 1;
