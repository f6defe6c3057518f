// What models, tools, files and people write stays text on every page, in a real browser: the payloads of DOMPurify's own tests
// (dompurify.json) and the big list of naughty strings, as goals, answers, names and arguments of tools, questions, memories and
// names of files. Nothing is executed, nothing is loaded from elsewhere, and no element or attribute comes from them.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { SCENARIOS } from './model.mjs';
import { World, require } from './world.mjs';

const fixtures = JSON.parse(await fs.readFile(new URL('dompurify.json', import.meta.url), 'utf8'));
const payloads = [...new Set([...fixtures.payloads, ...require('big-list-of-naughty-strings')])].filter((text) => text.trim() !== '');
// One run says as many as its agent has turns.
const GROUP = 35;
const groups = Array.from({ length: Math.ceil(payloads.length / GROUP) }, (_, n) => payloads.slice(n * GROUP, (n + 1) * GROUP));

let world;
let page;

before(async () => {
  world = await World.make();
  page = await world.page();
  page.on('dialog', (dialog) => {
    world.faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${world.address}/`)) world.faults.push(`request: ${request.url()}`);
  });
  await page.goto(world.entry);
  await page.waitForURL(`${world.address}/`);
});
after(() => world?.end());
afterEach(() => assert.deepEqual(world.faults.splice(0), []));

// Everything on the page that our own HTML never contains.
const strange = () => page.evaluate(() => {
  const tags = ['IFRAME', 'OBJECT', 'EMBED', 'BASE', 'STYLE', 'IMG', 'VIDEO', 'AUDIO', 'MATH', 'TEMPLATE', 'FOREIGNOBJECT', 'ANIMATE',
    'SET', 'IMAGE', 'FRAMESET', 'MARQUEE', 'KEYGEN', 'XMP', 'PLAINTEXT', 'NOSCRIPT', 'USE', 'FONT', 'CENTER', 'ISINDEX'];
  const isOwn = (address) => new URL(address, location.href).origin === location.origin;
  const found = [];
  for (const element of document.querySelectorAll('*')) {
    const tag = element.tagName.toUpperCase();
    const say = (what) => found.push(`${what}: ${element.outerHTML.slice(0, 200)}`);
    if (tags.includes(tag)) say(tag);
    if (tag === 'SCRIPT' && !(element.src && isOwn(element.src) && element.textContent === '')) say('script');
    if (tag === 'LINK' && !isOwn(element.href)) say('link');
    if (tag === 'FORM' && !isOwn(element.getAttribute('action') ?? '')) say('form');
    for (const { name, value } of element.attributes) {
      if (/^on|^srcdoc$|^xlink:/i.test(name) || (name === 'style' && !element.closest('svg') && !element.matches('#graph-frame > .graph-layer, [data-js] > .step-text'))) say(name);
      if (/^(href|src|action|formaction)$/i.test(name) && !/^(https?:|mailto:|[/#?])/i.test(value)) say(`${name}=${value}`);
    }
  }
  return found;
});

const harmless = async (place) => {
  if (place) await page.goto(world.address + place);
  assert.deepEqual(await strange(), [], page.url());
  assert.equal(await page.locator('header.bar .brand').textContent(), 'Updraft', page.url());
};

// What the parser and the page change in any text.
const plain = (text) => text.replace(/[\s\p{C}\uFFFD]+/gu, '');

// Starts a run with one agent, as the form does.
const start = async (goal, agent, model) => {
  await page.goto(`${world.address}/new`);
  await page.getByLabel('What do you want done?').fill(goal);
  await page.getByLabel('Who works on it').selectOption(`agent:${agent}`);
  await page.getByLabel('Model').fill(`openai-compatible/${model}`);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL(/\/runs\//);
  return new URL(page.url()).pathname;
};

test('what these tests look for is found if it is there', async () => {
  await page.goto(world.address);
  await page.evaluate(() => {
    const box = document.createElement('div');
    box.innerHTML = '<img src="https://evil.example/x" onerror="alert(1)"><a href="javascript:alert(1)">x</a>';
    document.body.append(box);
  });
  assert.deepEqual((await strange()).map((one) => one.split(':')[0]), ['IMG', 'onerror', 'href=javascript']);
  while (!world.faults.some((fault) => fault.includes('CSP'))) await page.evaluate(() => new Promise(requestAnimationFrame));
  await page.reload();
  world.faults.splice(0);
});

groups.forEach((group, n) => {
  test(`payloads ${n * GROUP + 1} to ${n * GROUP + group.length} of ${payloads.length} stay text, live and afterwards`, async () => {
    const say = (text) => ({ text, calls: [[text.slice(0, 200), { [text.slice(0, 100)]: text }]] });
    SCENARIOS.hostile = { turns: [...group.map(say), group[0]] };
    world.model.hold('turns');
    const run = await start(group.join('\n\n').replaceAll('\0', ''), 'researcher', 'hostile');
    await page.getByText('Live', { exact: true }).waitFor();
    world.model.release();
    await page.locator('#run-head[data-status=done]').waitFor();
    await harmless();
    await page.reload();
    await harmless();
    assert.equal(await page.locator('.entry.model').count(), group.length + 1);
    const names = plain((await page.locator('.entry.call').allTextContents()).join('\n'));
    const missing = group.filter((text) => !names.includes(plain(text.slice(0, 60))));
    assert.deepEqual(missing, [], 'shown as text');
    for (const view of ['view=events&step=researcher', 'view=timeline', 'at=9']) await harmless(`${run}?${view}`);

    SCENARIOS.hostile = { turns: [{ calls: [['ask_user', { question: group.join('\n'), options: group.slice(0, 4) }]] }, 'Done.'] };
    await start(group[0], 'clarification', 'hostile');
    await page.locator('form.answer').waitFor();
    await harmless();
  });
});

test('places that show all of them stay calm', async () => {
  let stored = 0;
  for (const text of payloads) {
    const name = text.replaceAll(/[/\0]/g, '').slice(0, 60);
    if (['', '.', '..'].includes(name)) continue;
    stored += await fs.writeFile(path.join(world.work, `${name}.md`), text).then(() => 1, () => 0);
  }
  assert.ok(stored > 400, `${stored} files`);
  for (let from = 0; from < payloads.length; from += 20) {
    const text = payloads.slice(from, from + 20).join('\n').slice(0, 3900);
    const form = { act: 'add', text };
    const answer = await page.request.post(`${world.address}/memory`, { form, headers: { origin: world.address } });
    assert.equal(answer.status(), 200, text);
  }
  const search = encodeURIComponent('<script>alert(1)</script>');
  const places = ['/', `/?q=${search}`, '/inbox', '/memory', '/knowledge', `/knowledge?q=${search}`, `/new?goal=${search}`, '/tools'];
  for (const place of places) await harmless(place);
  const [a, b] = await page.goto(world.address).then(() =>
    page.locator('.run-card .goal').evaluateAll((links) => links.slice(0, 2).map((link) => link.getAttribute('href').split('/')[2])));
  await harmless(`/compare?a=${a}&b=${b}`);
  await page.goto(`${world.address}/tools/list_files`);
  await page.getByRole('button', { name: 'Call' }).click();
  await page.getByText('Result').waitFor();
  await harmless();
});
