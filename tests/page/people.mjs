// People who share the page: each sees and does what the role allows, over an encrypted connection too.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { World, check } from './world.mjs';

let world;
const contexts = [];

before(async () => {
  world = await World.make();
});
after(() => world?.end());
afterEach(async () => {
  for (const context of contexts.splice(0)) await context.close();
  assert.deepEqual(world.faults.splice(0), []);
});

// A browser of somebody else.
const somebody = async () => {
  const context = await world.browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(15_000);
  contexts.push(context);
  return world.page(context);
};

const signIn = async (page, token) => {
  await page.goto(`${world.address}/enter`);
  await check(page);
  await page.getByLabel('Your token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${world.address}/`);
};

// The browser itself says in its console that an answer was 401 or 403.
const expectRefusals = () => {
  world.faults.splice(0, Infinity, ...world.faults.filter((fault) => !/status of 40[13]/.test(fault)));
};

const startApproval = async (page) => {
  await page.goto(`${world.address}/new`);
  await page.getByLabel('What do you want done?').fill('Write a note');
  await page.getByLabel('Model').fill('openai-compatible/approve');
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL(/\/runs\//);
  await page.getByRole('button', { name: 'Allow' }).waitFor();
};

test('who sees cannot steer, who steers is named, and who is removed is out', async () => {
  const [sue, tom] = [await somebody(), await somebody()];
  await signIn(tom, await world.run('serve', 'user', 'add', 'tom', '--role', 'steer'));
  await signIn(sue, await world.run('serve', 'user', 'add', 'sue', '--role', 'see'));
  assert.match(await world.run('serve', 'user', 'list'), /^sue +see\ntom +steer$/);
  await startApproval(tom);

  await sue.goto(tom.url());
  await sue.getByText('Live', { exact: true }).waitFor();
  await check(sue);
  for (const name of ['Allow', 'Send', 'Cancel', 'Fork from here']) {
    assert.equal(await sue.getByRole('button', { name }).count(), 0, name);
  }
  for (const name of ['New run', 'Settings']) {
    assert.equal(await sue.getByRole('link', { name }).count(), 0, name);
  }
  await sue.goto(world.address);
  assert.equal(await sue.getByRole('link', { name: 'New run' }).count(), 0);
  await sue.goto(tom.url());
  await sue.locator('body').press('a');
  await sue.keyboard.press('a');
  await sue.locator('form.approval').evaluate((form) => form.requestSubmit(form.querySelector('.allow')));
  await sue.getByText('Not with your role').waitFor();
  expectRefusals();
  await sue.goto(tom.url());

  await tom.getByRole('button', { name: 'Allow' }).click();
  await Promise.all([tom, sue].map((page) => page.getByText('Allowed by tom').waitFor()));
  assert.equal(await tom.getByRole('link', { name: 'Settings' }).count(), 0);
  assert.equal((await tom.goto(`${world.address}/settings`)).status(), 403);
  expectRefusals();

  await world.run('serve', 'user', 'remove', 'sue');
  assert.equal((await sue.reload()).status(), 401);
  expectRefusals();
});

test('who administers adds a user on the page', async () => {
  const [ada, ben] = [await somebody(), await somebody()];
  await signIn(ada, await world.run('serve', 'user', 'add', 'ada', '--role', 'administer'));
  await ada.getByRole('link', { name: 'Settings' }).click();
  await ada.getByRole('link', { name: 'Users' }).click();
  await check(ada);
  await ada.getByLabel('Name').fill('ben');
  await ada.getByLabel('Role').selectOption('steer');
  await ada.getByRole('button', { name: 'Add' }).click();
  const token = await ada.getByRole('status').locator('code').textContent();
  await check(ada);
  await signIn(ben, token);
  await ben.getByRole('link', { name: 'ben' }).click();
  await ben.getByRole('button', { name: 'Leave' }).click();
  await ben.getByText('You have left').first().waitFor();
  assert.equal((await ben.goto(world.address)).status(), 401);
  expectRefusals();
  await ada.getByRole('button', { name: 'Remove ben' }).click();
  await ada.waitForURL(`${world.address}/users`);
  await ada.getByRole('button', { name: 'Remove ada' }).waitFor();
  assert.equal(await ada.getByRole('button', { name: 'Remove ben' }).count(), 0);
});

test('the page is used over an encrypted connection', async () => {
  const [cert, key] = ['cert.pem', 'key.pem'].map((name) => path.join(world.folder, name));
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  await world.stopServer();
  await world.serve(0, '0.0.0.0', ['--tls-cert', cert, '--tls-key', key]);
  assert.match(world.address, /^https:\/\/localhost:\d+$/);
  assert.match(await world.run('open', '--print'), /^https:\/\/localhost:\d+\/enter\?code=/);
  const page = await somebody();
  await page.goto(world.entry);
  await page.waitForURL(`${world.address}/`);
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie.secure, cookie.httpOnly, cookie.sameSite], [true, true, 'Strict']);
  assert.match(cookie.name, /^__Host-/);
  await startApproval(page);
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.locator('#run-head[data-status=done]').waitFor();
});
