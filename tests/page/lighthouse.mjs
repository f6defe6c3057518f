// Prints Lighthouse's scores of the main pages: performance, accessibility, best practices.
//
// The run has ended before its page is measured: the page of one that goes on keeps a stream open, and Lighthouse waits
// for pages to be quiet.

import { createRequire } from 'node:module';
import path from 'node:path';

import { World } from './world.mjs';

const require = createRequire(path.join(process.env.LIGHTHOUSE, 'node_modules', 'x.js'));
const { default: lighthouse } = await import(require.resolve('lighthouse'));
const PORT = 9322;

const world = await World.make({ browserArguments: [`--remote-debugging-port=${PORT}`] });
try {
  const page = await world.page();
  await page.goto(world.entry);
  await page.waitForURL(`${world.address}/`);
  await page.goto(`${world.address}/new`);
  await page.getByLabel('What do you want done?').fill('Analyse the sales');
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator('#run-head[data-status=done]').waitFor();
  const run = new URL(page.url()).pathname;
  const cookies = await world.context.cookies();
  const extraHeaders = { Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') };
  for (const place of ['/', '/new', '/inbox', run, `${run}?view=timeline`, '/doctor']) {
    const options = { port: PORT, output: 'json', logLevel: 'error', extraHeaders, onlyCategories: ['performance', 'accessibility', 'best-practices'] };
    const { lhr } = await lighthouse(world.address + place, options);
    const scores = Object.values(lhr.categories).map(({ title, score }) => `${title} ${Math.round(score * 100)}`);
    const low = Object.values(lhr.audits).filter(({ score, scoreDisplayMode }) => score !== null && score < 0.9 && scoreDisplayMode !== 'informative');
    console.log(`${place}: ${scores.join(', ')}${low.length > 0 ? ` (below 90: ${low.map(({ id }) => id).join(', ')})` : ''}`);
  }
} finally {
  await world.end();
}
