// What people and programs do with the extension, in a real VS Code in a real browser: one journey through all of it.
//
// The editor takes longest to start, so the tests share it, and each goes on where the last one ended.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { after, before, test as journey } from 'node:test';

import { SCENARIOS } from '../page/model.mjs';
import { McpClient, Terminal, openRun } from './faces.mjs';
import { TOKEN, UPDRAFT, World } from './world.mjs';

const POEM = 'The wind is in the barley,\nthe sun is on the hill,\nthe mill is by the water,\nand all the world is still.\n';
const BETTER = 'The wind is in the wheat,\nthe sun is on the hill,\nthe mill is by the water,\nand nothing here is still.\nThe end.\n';

const step = (id, agent, description, more = {}) => ({ id, agent, description, prompt: description, reads: [], writes: [id], after: [], ...more });
SCENARIOS.poem = {
  plans: [[
    step('read', 'retriever', 'Read the poem'),
    step('title', 'clarification', 'Ask for the tone', { reads: ['read'] }),
    step('write', 'coder', 'Write the poem anew', { reads: ['title'] }),
    step('answer', 'summarizer', 'Say what is new', { reads: ['write'] }),
  ]],
  steps: {
    'Read the poem': [{ calls: [['read_file', { path: 'poem.txt' }]] }, 'Four lines.'],
    'Ask for the tone': [
      { calls: [['ask_user', { question: 'Which tone should it have?', options: ['calm', 'restless'] }]] },
      (results) => `The person said: ${results.at(-1)}`,
    ],
    'Write the poem anew': [
      { calls: [['read_file', { path: 'poem.txt' }]] },
      { calls: [['write_file', { path: 'poem.txt', content: BETTER }], ['write_file', { path: 'made.txt', content: 'made\n' }]] },
      'It is in poem.txt.',
    ],
    'Say what is new': ['Two lines are new.'],
  },
};
// A question, a call that has to be allowed, and an answer.
const mill = (question) => ({
  plans: [[
    step('look', 'retriever', 'Look at the mill'),
    step('colour', 'clarification', 'Ask for the colour', { reads: ['look'] }),
    step('paint', 'coder', 'Paint the mill', { reads: ['colour'] }),
    step('answer', 'summarizer', 'Say how it looks', { reads: ['paint'] }),
  ]],
  steps: {
    'Look at the mill': ['It has no colour.'],
    'Ask for the colour': [
      { calls: [['ask_user', { question, options: ['red', 'white'] }]] },
      (results) => `The person said: ${results.at(-1)}`,
    ],
    'Paint the mill': [{ calls: [['write_file', { path: 'made.txt', content: 'a white mill\n' }]] }, 'It is painted.'],
    'Say how it looks': ['The mill is white.'],
  },
});
// Notifications of VS Code stay for a while after somebody has answered elsewhere, so the questions differ.
SCENARIOS.mill = mill('Which colour should the mill have?');
SCENARIOS.again = mill('Which colour should it have now?');

let world;
let bridge;

before(async () => {
  world = await World.make({
    'poem.txt': POEM, 'README.md': '# Poems\n', 'src/area.txt': 'const area = (a, b) => a + b;\n', '.gitignore': 'ignored/\n',
    'ignored/secret.txt': 'x', '.updraft/config.toml': '[rules]\nask = ["write_file(made.txt)"]\n',
  }, 'poem');
  await world.install();
  await world.startEditor();
  await world.openWindow().catch(async (error) => {
    await world.keepEvidence();
    throw new Error(`${error.message}\n${world.said}`);
  });
  bridge = await world.bridge();
});
after(async () => {
  await Terminal.stopAll();
  await bridge?.stop();
  await world?.end();
});

// One part of the journey. Where it fails, the window as it was then is kept.
const test = (name, go) => journey(name, async () => {
  try {
    await go();
  } catch (error) {
    await world.keepEvidence();
    const notifications = await world.page.locator('.notification-toast').allTextContents().catch(() => []);
    error.message += `\nnotifications: ${notifications.join(' | ') || 'none'}`;
    throw error;
  }
});
const toast = (text) => world.page.locator('.notification-toast', { hasText: text }).first();
const row = (text) => world.page.locator('.monaco-list-row', { hasText: text }).first();

// Clicks an action of a row, which shows itself when the mouse is there.
const act = async (text, action) => {
  await row(text).hover();
  await row(text).locator(`.action-label[aria-label^="${action}"]`).click();
};
// The same, until its effect is there: a click is lost if the view of runs draws the row anew in that moment. Problems are not passed over.
const actUntil = async (text, action, effect) => {
  for (let attempt = 1; ; attempt += 1) {
    await act(text, action);
    if (await effect.waitFor({ timeout: 10_000 }).then(() => true, () => false)) return;
    assert.equal(await world.page.locator('.notification-toast', { hasText: 'Updraft: ' }).count(), 0, 'a problem was told');
    assert.ok(attempt < 4, `${action} has no effect`);
  }
};
const press = async (text, button) => {
  await toast(text).getByRole('button', { name: button, exact: true }).click();
};
const palette = async (command) => {
  await world.page.keyboard.press('F1');
  await world.page.locator('.quick-input-box input').fill(`>${command}`);
  await world.page.locator('.quick-input-list .monaco-list-row', { hasText: command }).first().waitFor();
  await world.page.keyboard.press('Enter');
};
const openFile = async (name) => {
  await world.page.keyboard.press('Control+P');
  await world.page.locator('.quick-input-box input').fill(name);
  await world.page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().waitFor();
  await world.page.keyboard.press('Enter');
  await world.page.locator('.tab.active', { hasText: name }).waitFor();
};
const line = (text) => world.page.locator('.view-line', { hasText: text }).first();
const until = async (what, test) => {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const found = await test();
    if (found) return found;
    assert.ok(Date.now() < deadline, `${what} has not come`);
    await new Promise((done) => setTimeout(done, 50));
  }
};

test('a program lists, reads and writes by the bridge; what is open follows, and a notification says so', async () => {
  const { data } = await bridge.call('list_files');
  assert.deepEqual(data.files, ['.gitignore', '.updraft/', '.updraft/config.toml', 'README.md', 'poem.txt', 'src/', 'src/area.txt']);
  assert.deepEqual((await bridge.call('list_files', { path: 'src' })).data.files, ['src/area.txt']);
  assert.equal((await bridge.call('read_file', { path: 'poem.txt' })).text, POEM);
  assert.match((await bridge.call('read_file', { path: 'poem.txt', start_line: 2, end_line: 2 })).text, /^the sun is on the hill,/);

  await openFile('README.md');
  await line('# Poems').waitFor();
  // What somebody has begun to write there is read, and replaced.
  await world.page.keyboard.press('Control+End');
  await world.page.keyboard.type('unsaved');
  await line('unsaved').waitFor();
  // The window shows it a moment before extensions know.
  await until('what was typed', async () => (await bridge.call('read_file', { path: 'README.md' })).text === '# Poems\nunsaved');
  await bridge.call('write_file', { path: 'README.md', content: '# Poems\n\nOne of them.\n' });
  await line('One of them.').waitFor();
  await toast('The bridge wrote README.md').waitFor();
  await world.shoot('1-written');
  assert.equal(await world.read('README.md'), '# Poems\n\nOne of them.\n');
  await bridge.call('write_file', { path: 'new/folder/x.txt', content: 'x' });
  assert.equal(await world.read('new/folder/x.txt'), 'x');
});

test('what is outside is refused, and so is a wrong token and a web page', async () => {
  for (const path of ['../outside.txt', '/etc/passwd', '.git/hooks/pre-commit', '.vscode/tasks.json']) {
    await assert.rejects(bridge.call('write_file', { path, content: 'x' }), /workspace|start programs/, path);
  }
  await assert.rejects(bridge.call('read_file', { path: 'nothing.txt' }));
  const stranger = await world.bridge('a wrong token');
  await assert.rejects(stranger.call('read_file', { path: 'poem.txt' }), /does not accept our token/);
  await stranger.stop();
  const status = await new Promise((done) => {
    const headers = {
      connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'MDEyMzQ1Njc4OWFiY2RlZg==',
      authorization: `Bearer ${TOKEN}`, origin: 'https://evil.example',
    };
    http.get({ port: world.bridgePort, headers }, (response) => done(response.statusCode)).on('upgrade', () => done(101));
  });
  assert.equal(status, 403);
});

test('work that is dispatched is a run in the view, live, paused and resumed', async () => {
  world.model.hold('Read the poem');
  const { text } = await bridge.call('dispatch_agent_task', { prompt: 'Make the poem better' });
  world.run = /as run (\w+)/.exec(text)[1];
  await palette('Focus on Runs View');
  await row('Make the poem better').waitFor();
  await row('Read the poem').filter({ hasText: 'retriever · running' }).waitFor();
  await row('Write the poem anew').waitFor();
  await world.shoot('2-running');
  assert.match((await bridge.call('task_status')).text, /is working/);
  await bridge.call('pause_task');
  await bridge.call('resume_task');
  assert.match((await bridge.call('task_status', { run: world.run })).text, /is working/);
});

test('the editor is restarted under the run, which goes on; its question and approval are answered by notifications', async () => {
  await world.page.close();
  await world.stopEditor();
  assert.equal((await world.api('GET', `/runs/${world.run}`)).status, 'running');
  await world.startEditor();
  await world.openWindow();
  await palette('Focus on Runs View');
  await row('Read the poem').filter({ hasText: 'retriever · running' }).waitFor();
  await world.shoot('3-restarted');
  // The same program at the bridge finds the new editor.
  assert.match((await bridge.call('task_status', { run: world.run })).text, /is working/);

  world.model.release();
  await toast('Which tone should it have?').waitFor();
  await row('asks you').waitFor();
  await world.shoot('4-question');
  await press('Which tone should it have?', 'restless');
  await toast('write_file').waitFor();
  await world.shoot('5-approval');
  await press('write_file', 'Allow');
  await row('Make the poem better').filter({ hasText: 'done' }).waitFor();
  const run = await world.api('GET', `/runs/${world.run}`);
  assert.deepEqual([run.status, run.answer], ['done', 'Two lines are new.']);
  assert.equal(await world.read('poem.txt'), BETTER);
  await world.page.locator('.statusbar-item', { hasText: /Updraft · \$0\.\d+/ }).waitFor();
});

test('what the run changed is reviewed by hunk: one is kept, the others are put back', async () => {
  await actUntil('Make the poem better', 'Review Changes', row('barley, → '));
  await row('made.txt').waitFor();
  await world.page.locator('.tab.active', { hasText: 'before the run' }).waitFor();
  await world.shoot('6-review');
  await act('barley, → ', 'Keep');
  await row('barley, → ').waitFor({ state: 'detached' });
  await act('and all the world is still. → ', 'Put Back');
  const wanted = BETTER.split('\n')[0] + POEM.slice(POEM.indexOf('\n'));
  await until('the text with one hunk', async () => (await world.read('poem.txt')) === wanted);
  await row('poem.txt').waitFor({ state: 'detached' });
  // After Undo in the editor, the hunk is open again.
  await world.page.locator('.editor.modified .view-line', { hasText: 'the mill is by the water' }).click();
  await world.page.keyboard.press('Control+Z');
  await row('and all the world is still. → ').waitFor();
  await world.page.keyboard.press('Control+Y');
  await row('poem.txt').waitFor({ state: 'detached' });
  await act('made.txt', 'Put Back');
  await until('the end of made.txt', async () => (await world.read('made.txt').catch(() => undefined)) === undefined);
  await world.shoot('7-reviewed');
  // The run's own undo knows what it left, and what it did not.
  const { files } = await world.api('GET', `/runs/${world.run}/changes`);
  assert.deepEqual(files.map(({ path, state }) => [path, state]), [['made.txt', 'as_before'], ['poem.txt', 'changed_since']]);
});

test('a run is started on a selection', async () => {
  world.model.forget();
  world.model.hold('plan');
  await openFile('area.txt');
  await line('const area').click();
  await world.page.keyboard.press('Control+A');
  await palette('Updraft: Run on This Selection');
  await world.page.locator('.quick-input-widget', { hasText: 'What do you want done with it?' }).locator('.quick-input-box input').fill('Multiply instead');
  await world.page.keyboard.press('Enter');
  await row('Multiply instead').waitFor();
  await world.shoot('8-selection');
  const { runs } = await world.api('GET', '/runs?words=multiply');
  const { goal } = await world.api('GET', `/runs/${runs[0].id}`);
  assert.equal(goal, 'Multiply instead\n\nIt is about line 1 of `src/area.txt`:\n\n```\nconst area = (a, b) => a + b;\n```');
  await world.api('POST', `/runs/${runs[0].id}/cancel`);
  world.model.release();
});

test('one run is seen and steered from a terminal, the page, the editor and an MCP client at once', async () => {
  const { address, token } = await world.server();
  const client = await McpClient.connect(process.env.MCP_PACKAGES, address, token);
  world.model.forget();
  world.model.hold('Look at the mill');
  world.model.use('mill');
  // The client starts it. All four see it.
  const { data } = await client.call('dispatch_agent_task', { prompt: 'Give the mill a colour' });
  const page = await openRun(world, UPDRAFT, data.run);
  const terminal = Terminal.start(UPDRAFT, ['attach', data.run], { env: world.environment, cwd: world.work });
  const isStep = (id, state) => page.locator(`.step-row[data-step=${id}][data-status=${state}]`).waitFor();
  await isStep('look', 'running');
  await terminal.shows('Look at the mill');
  await row('Give the mill a colour').waitFor();
  await row('Look at the mill').filter({ hasText: 'retriever · running' }).waitFor();
  assert.equal((await client.call('task_status', { run: data.run })).data.status, 'working');

  // Somebody at the page tells it something. The terminal says so, and the next agent reads it.
  await page.locator('#message').fill('It stands by the sea');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.locator('.entry', { hasText: 'It stands by the sea' }).first().waitFor();
  await terminal.shows('It stands by the sea');
  world.model.release();

  // It asks in all four places. The terminal answers, and nobody is asked any more.
  const question = 'Which colour should the mill have?';
  await Promise.all([toast(question).waitFor(), page.getByText(question).first().waitFor(), terminal.shows(question)]);
  assert.match((await client.call('task_status', { run: data.run })).text, /Which colour should the mill have/);
  await world.shoot('9-four-faces');
  terminal.types('white\r');
  await row(question).waitFor({ state: 'detached' });

  // It wants to write. The editor allows it, and the others see that.
  await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
  await terminal.shows('allow it?');
  assert.match((await client.call('task_status', { run: data.run })).text, /made\.txt/);
  await press('write_file', 'Allow');
  await terminal.shows('answered elsewhere');

  // All four say the same at the end.
  await page.locator('#run-head[data-status=done]').waitFor();
  assert.match(await page.locator('.entry.result').textContent(), /The mill is white\./);
  await row('Give the mill a colour').filter({ hasText: 'done' }).waitFor();
  await terminal.shows('The mill is white.');
  assert.deepEqual(await terminal.ended, [0, null]);
  const { data: result } = await client.call('task_result', { run: data.run });
  assert.deepEqual([result.status, result.answer], ['done', 'The mill is white.']);
  assert.equal(await world.read('made.txt'), 'a white mill\n');
  // What was done, and by whom, is one history.
  const { events } = await world.api('GET', `/runs/${data.run}/events?limit=1000`);
  const told = events.filter(({ type }) => type === 'told').map(({ event }) => event.told.message);
  assert.deepEqual(told, ['It stands by the sea']);
  const { stdout } = await world.updraft('show', data.run, '--prompts');
  assert.match(stdout, /It stands by the sea/);
  await Promise.all([client.stop(), page.close(), terminal.stop()]);
});

test('a run that somebody has begun in a terminal is answered elsewhere, and the terminal follows it', async () => {
  const { address, token } = await world.server();
  const client = await McpClient.connect(process.env.MCP_PACKAGES, address, token);
  await fs.rm(path.join(world.work, 'made.txt'));
  world.model.use('again');
  const words = ['run', '--model', 'openai-compatible/again', 'Paint the mill once more'];
  const terminal = Terminal.start(UPDRAFT, words, { env: world.environment, cwd: world.work });
  const question = 'Which colour should it have now?';
  await Promise.all([toast(question).waitFor(), terminal.shows(question)]);
  const { runs } = await world.api('GET', '/runs?words=once+more');
  await press(question, 'white');
  await terminal.shows('answered elsewhere');
  await toast('write_file').waitFor();
  await client.call('approve', { run: runs[0].id, allow: true });
  await terminal.shows('The mill is white.');
  assert.deepEqual(await terminal.ended, [0, null]);
  await row('Paint the mill once more').filter({ hasText: 'done' }).waitFor();
  await Promise.all([client.stop(), terminal.stop()]);
});

test('where the editor has an agent panel, work goes there', async () => {
  await world.put('panel-now', '');
  await until('the panel', () => world.read('panel-ready').then(() => true, () => false));
  const { text } = await bridge.call('dispatch_agent_task', { prompt: 'Look at the preview', signal_file: 'DONE.md' });
  assert.doesNotMatch(text, /as run/);
  const [sent] = (await world.read('panel.jsonl')).trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(sent.action, 'sendMessage');
  assert.match(sent.text, /^Look at the preview[^]*DONE\.md/);
  await assert.rejects(bridge.call('task_status'), /agent panel/);
  const waiting = bridge.call('wait_for_signal', { path: 'DONE.md', seconds: 20 });
  await world.put('DONE.md', 'done');
  assert.match((await waiting).text, /has appeared/);
});
