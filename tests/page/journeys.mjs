// What people do with the page, in a real browser, with the real server and a scripted model.
//
// Each journey is one test; all share a server and a browser. Whatever a page reports (an error in the console, a violation
// of the security policy) fails the journey that opened it, and so does anything that axe-core or html-validate finds.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { World, check } from './world.mjs';

let world;
const opened = [];

before(async () => {
  world = await World.make();
  const page = await world.page();
  await page.goto(world.entry);
  await page.waitForURL(`${world.address}/`);
  await page.close();
});
after(() => world?.end());
afterEach(async () => {
  world.model.release();
  for (const page of opened.splice(0)) await page.close();
  assert.deepEqual(world.faults.splice(0), []);
});

const open = async (place = '/') => {
  const page = await world.page();
  opened.push(page);
  await page.goto(world.address + place);
  return page;
};

// Starts a run from the form, and stays at its page.
const start = async (page, model, { goal = `Do ${model}`, planFirst = false } = {}) => {
  await page.goto(`${world.address}/new`);
  await page.getByLabel('What do you want done?').fill(goal);
  await page.getByLabel('Model').fill(`openai-compatible/${model}`);
  if (planFirst) await page.getByLabel('Show me the plan').check();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL(/\/runs\//);
};
const status = (page, word) => page.locator(`#run-head[data-status=${word}]`).waitFor();
const step = (page, id, state) => page.locator(`.step-row[data-step=${id}][data-status=${state}]`).waitFor();
const result = (page) => page.locator('.entry.result');
// The address of the two newest runs side by side, seen from the list of sessions.
const comparison = async (page) => {
  const [a, b] = await page.locator('.run-card .goal').evaluateAll((links) => links.map((link) => link.getAttribute('href').split('/')[2]));
  return `/compare?a=${a}&b=${b}`;
};

test('a run is started from the page with a file, watched live, reloaded half way, and ends', async () => {
  const page = await open('/new');
  await check(page);
  world.model.hold('Revenue by region', 'Revenue by product');
  await page.getByLabel('What do you want done?').fill('Analyse the sales');
  await page.getByLabel('Files').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Notes.\n') });
  await page.getByRole('button', { name: 'Remove notes.txt' }).waitFor();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL(/\/runs\//);
  // Nothing is loaded anew from here on: what changes comes by the stream.
  await step(page, 'by_region', 'running');
  await step(page, 'by_product', 'running');
  await step(page, 'by_month', 'completed');
  await page.getByText('Live', { exact: true }).waitFor();
  await page.locator('svg.graph a[data-step=by_region].state-running').waitFor();
  await check(page);

  await page.reload();
  await step(page, 'by_region', 'running');
  world.model.release('Revenue by region', 'Revenue by product');
  await status(page, 'done');
  await page.locator('svg.graph a[data-step=answer].state-completed').waitFor();
  assert.match(await result(page).textContent(), /East leads/);
  assert.equal(await result(page).locator('strong').textContent(), 'East leads');
  assert.equal(await fs.readFile(path.join(world.work, 'uploads', 'notes.txt'), 'utf8').catch(() => ''), 'Notes.\n');
});

test('what is open, typed and looked at stays while the run goes on', async () => {
  const page = await open();
  world.model.hold('Revenue by region');
  await start(page, 'parallel');
  await step(page, 'by_region', 'running');
  await page.locator('.entry.call details').first().locator('summary').click();
  await page.locator('#message').fill('half a thought');
  await page.getByRole('button', { name: 'Zoom in' }).click();
  const moved = await page.locator('.graph-layer').evaluate((layer) => new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(() => done(layer.style.transform)));
  }));
  assert.match(moved, /scale/);
  await page.locator('#message').focus();
  world.model.release('Revenue by region');
  await status(page, 'done');
  assert.equal(await page.locator('.entry.call details').first().getAttribute('open'), '');
  assert.equal(await page.locator('#message').inputValue(), 'half a thought');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'message');
  assert.equal(await page.locator('.graph-layer').evaluate((layer) => layer.style.transform), moved);
});

test('a conversation stays at its end while it grows, unless somebody has scrolled up', async () => {
  const page = await open();
  // How far the conversation is from its end, after a frame in which it could follow.
  const left = () => page.locator('.chat').evaluate((chat) => new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(() => done(chat.scrollHeight - chat.scrollTop - chat.clientHeight)));
  }));
  const goes = async (height, does) => {
    await page.setViewportSize({ width: 1200, height });
    world.model.hold('Revenue by region');
    await start(page, 'parallel');
    await step(page, 'by_region', 'running');
    const before = await page.locator('.chat').evaluate((chat) => chat.scrollHeight);
    await does();
    world.model.release();
    await status(page, 'done');
    await result(page).waitFor();
    assert.ok(await page.locator('.chat').evaluate((chat) => chat.scrollHeight) > before + 100);
    return left();
  };
  assert.ok(await goes(600, async () => {}) < 2);
  // Everything is in view until then.
  const read = await goes(1_000, async () => {
    const fold = page.locator('.entry.call summary').first();
    const top = await page.locator('.chat').evaluate((chat) => chat.scrollTop);
    await fold.click();
    assert.equal(await page.locator('.chat').evaluate((chat) => chat.scrollTop), top, 'it was scrolled to be opened');
  });
  assert.ok(read > 48, 'it went away from what was opened');
  assert.ok(await goes(600, async () => {
    await page.locator('.chat').hover();
    await page.mouse.wheel(0, -10_000);
    while (await page.locator('.chat').evaluate((chat) => chat.scrollTop > 0));
  }) > 100);
  assert.equal(await page.locator('.chat').evaluate((chat) => chat.scrollTop), 0);
});

test('a call is approved with the keyboard, and another tab sees it', async () => {
  const [page, other] = [await open(), await open()];
  await start(page, 'approve');
  const allow = page.getByRole('button', { name: 'Allow' });
  await allow.waitFor();
  await check(page);
  await other.goto(page.url());
  await other.getByRole('button', { name: 'Allow' }).waitFor();
  await page.locator('body').press('a');
  assert.equal(await allow.evaluate((button) => button === document.activeElement), true);
  await page.keyboard.press('a');
  await Promise.all([status(page, 'done'), status(other, 'done')]);
  await other.getByText('Allowed by the page').waitFor();
  assert.equal(await fs.readFile(path.join(world.work, 'note.md'), 'utf8'), '# Note\n\nRemember the milk.\n');
});

test('a question is answered from the inbox', async () => {
  const page = await open();
  await start(page, 'ask');
  await page.getByText('Which colour should lead?').first().waitFor();
  const inbox = await open('/inbox');
  await check(inbox);
  await inbox.getByLabel('blue').check();
  await inbox.getByRole('button', { name: 'Answer' }).click();
  // The answer leads back to the inbox, which says what was done.
  await inbox.getByRole('status').getByText('Answered: Do ask').waitFor();
  await inbox.getByText('Nothing waits for you.').waitFor();
  await check(inbox);
  await status(page, 'done');
  await page.getByText('Answered: blue').waitFor();
});

test('a plan is shown before it runs, changed in a form, and carried out as changed', async () => {
  const page = await open();
  await start(page, 'parallel', { planFirst: true });
  await page.getByRole('link', { name: 'Change the plan' }).click();
  await page.waitForURL(/\/plan$/);
  await page.locator('svg.graph .node').nth(5).waitFor();
  await check(page);
  const row = (name) => page.locator('.plan-row').filter({ has: page.locator(`input[value=${name}][type=text]`) });
  const button = (name) => page.getByRole('button', { name, exact: true });

  // Two steps go, one gets another name; the graph follows, and so do those that wait for them.
  await button('Remove by_month').click();
  await page.locator('.plan-row').nth(4).waitFor();
  await page.locator('.plan-row').nth(5).waitFor({ state: 'detached' });
  await button('Remove by_product').click();
  await page.locator('.plan-row').nth(4).waitFor({ state: 'detached' });
  await row('by_region').getByLabel('Step id').fill('regions');
  await row('by_region').getByLabel('Instruction').click();
  await page.locator('svg.graph .node', { hasText: 'regions' }).waitFor();
  await row('report').getByLabel('regions').waitFor();
  assert.equal(await row('report').getByLabel('regions').isChecked(), true);

  // A step is added, and what is wrong with it is said at its fields.
  await button('Add a step').click();
  const added = row('step_1');
  await added.waitFor();
  assert.equal(await added.getByLabel('Step id').evaluate((field) => field === document.activeElement), true);
  await page.keyboard.press('Control+A');
  await page.keyboard.type('in french');
  await button('Carry out as changed').click();
  const wrong = page.locator('.field-fault');
  await wrong.getByText('is not a valid step id').waitFor();
  await check(page);
  const last = page.locator('.plan-row').last();
  await last.getByLabel('Step id').fill('french');
  await button('Carry out as changed').click();
  await wrong.getByText('say what the agent is to do').waitFor();
  await last.getByLabel('Instruction').fill('Say it in French');
  await last.getByLabel('Agent').selectOption('summarizer');
  await row('profile').getByLabel('french').check();
  await wrong.getByText('wait for each other in a cycle').first().waitFor();
  await row('profile').getByLabel('french').uncheck();
  await wrong.first().waitFor({ state: 'detached' });
  await button('Move french up').click();
  await page.locator('.plan-row').nth(3).locator('input[value=french]').waitFor();

  // What the form does not show is in the JSON.
  await page.getByText('Advanced: the plan as JSON').click();
  const plan = JSON.parse(await page.locator('#plan-text').inputValue());
  assert.deepEqual(plan.steps.map(({ id }) => id), ['profile', 'regions', 'report', 'french', 'answer']);
  assert.deepEqual(plan.steps[2].reads, ['by_region']);
  assert.deepEqual(plan.steps[3].reads, ['answer']);
  await button('Carry out as changed').click();
  await status(page, 'done');
  const steps = await page.locator('.step-row').evaluateAll((rows) => rows.map((one) => one.dataset.step));
  assert.ok(steps.includes('french') && steps.includes('regions') && !steps.includes('by_month'), steps.join());
});

test('a plan is changed as JSON, and in a form without scripts', async () => {
  const page = await open();
  await start(page, 'parallel', { planFirst: true });
  await page.getByRole('link', { name: 'Change the plan' }).click();
  await page.getByText('Advanced: the plan as JSON').click();
  const text = page.locator('#plan-text');
  const plan = JSON.parse(await text.inputValue());
  await text.fill('{');
  await page.getByRole('button', { name: 'Carry out this JSON' }).click();
  await page.locator('#plan-text-fault').getByText('the plan is not JSON').waitFor();
  plan.steps = plan.steps.filter(({ id }) => !['by_month', 'by_product'].includes(id));
  for (const one of plan.steps) one.reads = (one.reads ?? []).filter((name) => !['by_month', 'by_product'].includes(name));
  await text.fill(JSON.stringify(plan));
  await page.getByRole('button', { name: 'Show in the form' }).click();
  await page.locator('.plan-row').nth(4).waitFor({ state: 'detached' });
  assert.equal(await page.locator('.plan-row').count(), 4);

  const plain = await world.browser.newContext({ javaScriptEnabled: false, storageState: await world.context.storageState() });
  const still = await world.page(plain);
  try {
    await still.goto(page.url());
    await still.getByRole('button', { name: 'Remove by_month' }).click();
    await still.getByRole('button', { name: 'Remove by_product' }).click();
    await still.getByRole('button', { name: 'Move report up' }).click();
    await still.getByRole('button', { name: 'Draw the graph again' }).click();
    assert.equal(await still.locator('svg.graph .node').count(), 4);
    await still.getByRole('button', { name: 'Carry out as changed' }).click();
    await still.waitForURL(/\/runs\/[^/]+$/);
  } finally {
    await plain.close();
  }
  await page.goto(page.url().replace(/\/plan$/, ''));
  await status(page, 'done');
  assert.equal(await page.locator('.step-row[data-step=by_month]').count(), 0);
});

test('a run is cancelled by Escape, after a question', async () => {
  const page = await open();
  world.model.hold('Look at the columns');
  await start(page, 'parallel');
  await step(page, 'profile', 'running');
  await page.locator('body').press('Escape');
  const dialog = page.getByRole('dialog', { name: 'Interrupt' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await status(page, 'cancelled');
  world.model.release('Look at the columns');
});

test('the past is looked at with the slider, and a run is forked from it', async () => {
  const page = await open();
  await start(page, 'parallel');
  await status(page, 'done');
  const first = page.url();
  await page.locator('.slider input[type=range]').evaluate((slider) => {
    slider.value = '20';
    slider.dispatchEvent(new Event('input', { bubbles: true }));
  });
  await page.locator('#time-bar[data-past]').waitFor();
  assert.equal(new URL(page.url()).searchParams.get('at'), '20');
  assert.equal(await result(page).count(), 0);
  await check(page);
  await page.locator('#time-bar').getByRole('link', { name: 'Fork from here' }).click();
  await page.getByRole('heading', { name: 'Fork after event 20' }).waitFor();
  await check(page);
  await page.getByLabel('Goal').fill('Analyse the sales of spring');
  await page.getByRole('button', { name: 'Fork' }).click();
  await page.waitForURL((url) => /^\/runs\/[^/]+$/.test(url.pathname) && url.pathname !== new URL(first).pathname);
  await page.getByText('Forked from').first().waitFor();
  await page.getByRole('heading', { name: 'Analyse the sales of spring' }).waitFor();
  await status(page, 'done');
});

test('a result is changed in a copy, and the steps that read it see the change', async () => {
  const page = await open();
  await start(page, 'parallel');
  await status(page, 'done');
  const first = new URL(page.url()).pathname;
  await page.goto(`${page.url()}?view=events`);
  const written = await page.locator('.event[data-event=wrote]').filter({ hasText: 'by_region' }).first().getAttribute('id');
  await page.goto(`${world.address}${first}/fork?at=${written.replace('v-', '')}`);
  await page.getByLabel('by_region').fill('North 999.');
  await check(page);
  await page.getByRole('button', { name: 'Fork' }).click();
  await page.waitForURL((url) => url.pathname !== `${first}/fork`);
  await status(page, 'done');
  await page.goto(`${page.url()}?step=report`);
  await page.locator('#inspector').getByText('by_region', { exact: true }).click();
  await page.locator('#inspector').getByText('North 999.').first().waitFor();
});

test('files are read into the index, and the page says how far that is', async () => {
  const page = await open('/knowledge');
  await page.getByRole('button', { name: 'Read into the index' }).click();
  await page.locator('#ingestion').getByText('written').waitFor();
  await page.locator('.documents').getByText('sales.csv').waitFor();
  await check(page);
});

test('the timeline says what a step waited for, and what follows it costs', async () => {
  const page = await open();
  await start(page, 'busy');
  await status(page, 'done');
  await page.locator('.step-row[data-step=figures] .subtree').getByText('with what follows').waitFor();
  await page.getByRole('link', { name: 'Timeline' }).click();
  await page.locator('.track[data-step=figures] .span.held-up').waitFor();
  assert.match(await page.locator('tr[data-step=figures]').textContent(), /for its model/);
  assert.equal(await page.locator('tr[data-step=figures] .critical').count(), 1);
  await check(page);
});

test('a click is not lost when the page has to be loaded anew', async () => {
  const page = await open();
  world.model.hold('Revenue by month');
  await start(page, 'parallel');
  await step(page, 'by_month', 'running');
  const gate = () => {
    let release;
    return Object.assign(new Promise((done) => { release = done; }), { release: () => release() });
  };
  const [stream, view] = [gate(), gate()];
  const patch = { position: 1, reload: true };
  let streams = 0;
  await page.route(/stream.*view=graph/, async (route) => {
    if (++streams > 1) return route.fallback();
    await stream;
    return route.fulfill({ contentType: 'text/event-stream', body: `event: patch\ndata: ${JSON.stringify(patch)}\n\n` });
  });
  await page.route(/\?view=timeline/, async (route) => {
    await view;
    await route.fallback();
  });
  await page.reload();
  const asked = page.waitForRequest(/\?view=timeline/);
  await page.getByRole('link', { name: 'Timeline' }).click();
  await asked;
  const again = page.waitForRequest(/stream.*view=graph/);
  stream.release();
  await again;
  view.release();
  await page.waitForURL(/view=timeline/);
  await page.locator('.track').first().waitFor();
});

test('steps are reached with j and k, and the keys are explained', async () => {
  const page = await open();
  await start(page, 'replan');
  await status(page, 'done');
  await step(page, 'answer2', 'completed');
  await page.locator('body').press('j');
  await page.locator('#inspector[data-step]').waitFor();
  const before = await page.locator('#inspector').getAttribute('data-step');
  await page.locator('body').press('j');
  await page.locator(`#inspector[data-step]:not([data-step="${before}"])`).waitFor();
  await page.locator('body').press('k');
  await page.locator(`#inspector[data-step="${before}"]`).waitFor();
  await check(page);
  await page.locator('body').press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await check(page);
});

test('the server is restarted under an open page', async () => {
  const page = await open();
  world.model.hold('Revenue by month');
  await start(page, 'parallel');
  await step(page, 'by_month', 'running');
  await page.getByText('Live', { exact: true }).waitFor();
  await world.stopServer('SIGKILL');
  await page.getByText('Reconnecting…').waitFor();
  // The browser itself says that it cannot connect.
  world.faults.splice(0, Infinity, ...world.faults.filter((fault) => !/Failed to load resource|ERR_/.test(fault)));
  world.model.release('Revenue by month');
  await world.serve(new URL(world.address).port);
  // The run goes on at once, and may be over before anyone looks.
  await page.locator('.connection:is([data-js-state=live], [data-js-state=over])').waitFor();
  world.faults.splice(0, Infinity, ...world.faults.filter((fault) => !/Failed to load resource|ERR_/.test(fault)));
  const resume = page.getByRole('button', { name: 'Resume' });
  await Promise.race([resume.waitFor().then(() => resume.click()), status(page, 'done')]);
  await status(page, 'done');
  assert.match(await result(page).textContent(), /East leads/);
});

test('every page is valid and accessible, in the dark and at 360 pixels too', async () => {
  const page = await open();
  const run = await page.locator('.run-card .goal').first().getAttribute('href');
  await world.run('schedule', '0 0 1 1 *', 'What has the year brought?', '--name', 'yearly');
  const places = [
    '/', '/new', '/inbox', run, `${run}?view=timeline`, `${run}?view=events`, `${run}?step=profile`, `${run}/fork?at=1`, '/doctor',
    '/compare', await comparison(page), '/tools/read_file', '/schedules',
  ];
  const pages = await page.locator('nav.places a').evaluateAll((links) => links.map((link) => link.getAttribute('href')));
  for (const place of new Set([...places, ...pages])) {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(world.address + place);
    await check(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 360, height: 780 });
    await check(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `${place} is ${wide} pixels wide`);
  }
});

test('on a screen of 3,840 pixels everything has its place, and lines stay readable', async () => {
  const page = await open();
  await page.setViewportSize({ width: 3840, height: 2160 });
  const run = await page.locator('.run-card .goal').first().getAttribute('href');
  const places = ['/', '/new', run, `${run}?view=timeline`, `${run}?step=profile`, await comparison(page), '/knowledge', '/tools/read_file', '/settings', '/doctor'];
  for (const place of places) {
    await page.goto(world.address + place);
    // The widest line of text for people, and the widest field.
    const { wide, line, field } = await page.evaluate(() => {
      const widest = (boxes) => Math.max(0, ...boxes.map(({ width }) => width));
      const lines = [...document.querySelectorAll('main :is(p, li, dd, label)')].flatMap((one) => {
        const range = document.createRange();
        return [...one.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE).flatMap((text) => {
          range.selectNodeContents(text);
          return [...range.getClientRects()];
        });
      });
      const fields = [...document.querySelectorAll('main :is(input, textarea, select):not([type=range])')];
      return {
        wide: document.documentElement.scrollWidth, line: widest(lines),
        field: widest(fields.map((one) => one.getBoundingClientRect())),
      };
    });
    assert.ok(wide <= 3840, `${place} is ${wide} pixels wide`);
    assert.ok(line < 1250, `${place} has a line of ${line} pixels`);
    assert.ok(field < 1250, `${place} has a field of ${field} pixels`);
  }
});

test('everything can be read and a call can be approved without JavaScript', async () => {
  const context = await world.browser.newContext({ javaScriptEnabled: false, storageState: await world.context.storageState() });
  const page = await context.newPage();
  await start(page, 'approve', { goal: 'Without scripts' });
  while (!(await page.getByRole('button', { name: 'Allow' }).count())) await page.reload();
  await page.getByRole('button', { name: 'Allow' }).click();
  while ((await page.locator('#run-head').getAttribute('data-status')) !== 'done') await page.reload();
  assert.match(await result(page).textContent(), /note\.md/);
  assert.equal(await page.locator('svg.graph a[data-step]').count(), 3);
  await context.close();
});
