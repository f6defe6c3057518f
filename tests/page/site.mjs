// The documentation as a site (`cargo xtask site`), read from a disk: valid HTML, nothing that axe-core finds, as wide as a telephone,
// a search that finds, and a text that is there without JavaScript. Usage: node site.mjs PACKAGES CHROMIUM SITE
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [packages, executablePath, site] = process.argv.slice(2);
const require = createRequire(path.join(packages, 'node_modules', 'x.js'));
const { chromium } = require('playwright-core');
const { HtmlValidate } = require('html-validate');
const AXE = await fs.readFile(require.resolve('axe-core/axe.min.js'), 'utf8');
const LOOKED_AT = ['index.html', 'mcp.html', 'reference/settings.html', 'decisions/index.html'];

const validator = new HtmlValidate({
  extends: ['html-validate:recommended'],
  rules: {
    'no-trailing-whitespace': 'off',
    'no-inline-style': 'error',
    'void-style': 'off',
    'long-title': 'off',
    'valid-id': ['error', { relaxed: true }], // anchors are those of GitHub, which may begin with a digit
  },
});
const files = (await fs.readdir(site, { recursive: true })).filter((name) => name.endsWith('.html')).sort();
const address = (name) => pathToFileURL(path.join(site, name)).href;

/** Every page is valid HTML. */
async function valid() {
  for (const name of files) {
    const report = await validator.validateString(await fs.readFile(path.join(site, name), 'utf8'));
    const messages = report.results.flatMap((result) => result.messages);
    const wrong = messages.map(({ ruleId, message, line, column }) => `${line}:${column} ${ruleId}: ${message}`);
    assert.deepEqual(wrong, [], `html-validate at ${name}`);
  }
}

/** Every page fits a telephone, and none asks the network for anything. */
async function narrow(browser) {
  const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  // Of the decisions, which are all alike, the list and one.
  for (const name of files.filter((name) => !/decisions\/(?!0001|index)/.test(name))) {
    await page.goto(address(name));
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 360, `${name} is ${width} px wide on a telephone`);
  }
  assert.deepEqual(asked.filter((url) => !url.startsWith('file:') && !url.startsWith('data:')), [], 'nothing comes from the network');
}

/** axe-core finds nothing; in the dark, only colours are others. */
async function accessible(browser, colorScheme) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, colorScheme });
  const options = { resultTypes: ['violations'] };
  if (colorScheme === 'dark') options.runOnly = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };
  for (const name of LOOKED_AT) {
    await page.goto(address(name));
    await page.evaluate(AXE);
    const { violations } = await page.evaluate((options) => globalThis.axe.run(document, options), options);
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join('\n    ')}`);
    assert.deepEqual(found, [], `axe-core at ${name}, ${colorScheme}`);
  }
}

/** What is looked for is found, or said not to be there. */
async function found(browser) {
  const page = await browser.newPage();
  await page.goto(address('reference/events.html'));
  await page.keyboard.press('/');
  await page.keyboard.type('prompt injection');
  await page.locator('#site-found a').first().waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/permissions\.html#prompt-injection$|security\.html/);
  await page.locator('#site-words').fill('xylophone');
  assert.equal(await page.locator('#site-found li').first().textContent(), 'Nothing found');
}

/** Without JavaScript there is the text, and no search. */
async function plain(browser) {
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(address('plans.html'));
  assert.equal(await page.locator('h1').first().textContent(), 'Plans #');
  assert.equal(await page.locator('#site-search').isVisible(), false);
  await page.locator('nav.contents a', { hasText: 'Permissions' }).click();
  await page.waitForURL(/permissions\.html$/);
}

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  // The browser has processes of its own, so this process validates meanwhile.
  const looks = [narrow(browser), accessible(browser, 'light'), accessible(browser, 'dark'), found(browser), plain(browser)];
  await Promise.all([...looks, valid()]);
} finally {
  await browser.close();
}
console.log(`the site: ${files.length} pages are valid, fit a telephone and are found`);
