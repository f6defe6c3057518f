// Opens an exported run in Chromium, with and without JavaScript, light and dark, wide and narrow; prints what went wrong as JSON.
//
// export.mjs FILE FOLDER: FILE is the export; pictures of it go to FOLDER.

import fs from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [file, folder] = process.argv.slice(2);
const require = createRequire(path.join(process.env.PACKAGES, 'node_modules', 'x.js'));
const { chromium } = require('playwright-core');
const { HtmlValidate } = require('html-validate');
const axe = await fs.readFile(require.resolve('axe-core/axe.min.js'), 'utf8');

const seen = { problems: [], requests: [], wide: [], steps: 0 };
const validator = new HtmlValidate({
  extends: ['html-validate:recommended'],
  rules: { 'no-trailing-whitespace': 'off', 'void-style': 'off', 'long-title': 'off' },
});
const report = await validator.validateString(await fs.readFile(file, 'utf8'));
for (const result of report.results) {
  for (const message of result.messages) seen.problems.push(`${message.line}: ${message.ruleId}: ${message.message}`);
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
for (const [width, colorScheme, javaScriptEnabled] of [[1280, 'light', true], [360, 'dark', false], [360, 'light', true]]) {
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, javaScriptEnabled });
  const page = await context.newPage();
  page.on('console', (message) => seen.problems.push(message.text()));
  page.on('pageerror', (error) => seen.problems.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith('file:') && !request.url().startsWith('data:')) seen.requests.push(request.url());
  });
  await page.goto(pathToFileURL(file).href);
  seen.steps = await page.locator('.step-details').count();
  // A link in the graph unfolds its step.
  await page.locator('svg.graph a.node').last().click();
  if (!(await page.locator('.step-details').last().locator('.step-body').isVisible())) seen.problems.push('a step stays folded');
  if (javaScriptEnabled) {
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (over > 0) seen.wide.push([width, over]);
  }
  await page.goto(pathToFileURL(file).href);
  await page.screenshot({ path: path.join(folder, `export-${width}-${colorScheme}.png`), fullPage: true });
  await context.close();
}

// The policy of the file lets no script in; whoever judges it has to get past that.
const context = await browser.newContext({ bypassCSP: true });
const page = await context.newPage();
await page.goto(pathToFileURL(file).href);
await page.evaluate(axe);
const { violations } = await page.evaluate(() => window.axe.run());
for (const { id, nodes } of violations) seen.problems.push(`${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(' ')}`);
await browser.close();
console.log(JSON.stringify(seen));
