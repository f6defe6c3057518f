// What is said of runs, how their events are read, and where a server is looked for.

import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

import { AgentDispatch, type EditorCommands, hasPanel, PANEL } from '../src/bridge/dispatch.ts';
import { goalFor } from '../src/runs/goal.ts';
import { below, dollars, stepPage } from '../src/runs/words.ts';
import type { ApiClient, Step } from '../src/serve/api.ts';
import { findProgram, lastAddress, serveToken, stateFolder } from '../src/serve/places.ts';
import { EventParser } from '../src/serve/sse.ts';

const step = (id: string, after: string[], more: Partial<Step> = {}): Step => ({
  id, after, agent: 'coder', description: '', prompt: `do ${id}`, reads: [], writes: [id], status: 'completed', output: null, error: null,
  turns: 1, calls: 0, cost: 0, model: 'm', ...more,
});

test('each step is shown once, below the first step it comes after', () => {
  const steps = [step('a', []), step('b', ['a']), step('c', ['a']), step('d', ['c', 'b']), step('e', [], { reads: ['d'] })];
  const ids = (parent?: string): string[] => below(parent, steps).map(({ id }) => id);
  assert.deepEqual([ids(), ids('a'), ids('b'), ids('c'), ids('d')], [['a'], ['b', 'c'], [], ['d'], ['e']]);
});

test('a step is a page', () => {
  const page = stepPage(step('a', [], { output: { x: 1 }, error: 'broke', cost: 0.0123 }));
  assert.match(page, /# a\n\ncoder · completed · 1 turn · \$0\.0123 · m\n\n## Prompt\n\ndo a\n\n## Error\n\nbroke\n\n## Result\n\n\{\n {2}"x": 1/);
  assert.deepEqual([dollars(0), dollars(0.05), dollars(1.5), dollars(null)], ['$0.00', '$0.0500', '$1.50', '$?']);
});

test('a selection becomes a goal, whatever is in it', () => {
  const goal = goalFor(' Fix it ', { path: 'a.md', first: 3, last: 4, text: '````js\nx\n' });
  assert.equal(goal, 'Fix it\n\nIt is about lines 3 to 4 of `a.md`:\n\n`````\n````js\nx\n`````');
});

test('events are read from pieces, however they are cut', () => {
  const text = 'id: 1\nevent: planned\ndata: {"a":1}\n\n:\n\nid: 2\nevent: done\ndata: x\ndata: y\n\n';
  const parser = new EventParser();
  const found = [...text].flatMap((letter) => parser.push(letter));
  assert.deepEqual(found, [{ id: '1', event: 'planned', data: '{"a":1}' }, { id: '2', event: 'done', data: 'x\ny' }]);
  assert.deepEqual(new EventParser().push(text), found);
});

test('a server is found where the program keeps its address and token', async () => {
  assert.equal(stateFolder({}, '/home/me'), '/home/me/.local/state/updraft');
  assert.equal(stateFolder({ XDG_STATE_HOME: '/s' }, '/home/me'), '/s/updraft');
  assert.equal(stateFolder({ XDG_STATE_HOME: 'relative' }, '/home/me'), '/home/me/.local/state/updraft');
  assert.equal(stateFolder({ UPDRAFT_HOME: '/u', XDG_STATE_HOME: '/s' }, '/home/me'), '/u');
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'updraft-places-'));
  assert.deepEqual([await lastAddress(folder), await serveToken(folder)], [undefined, undefined]);
  await fs.writeFile(path.join(folder, 'serve.address'), '127.0.0.1:7717 http://localhost:7717\n');
  await fs.writeFile(path.join(folder, 'serve.token'), 'secret\n');
  assert.deepEqual([await lastAddress(folder), await serveToken(folder)], ['http://localhost:7717', 'secret']);
  const program = path.join(folder, 'updraft');
  await fs.writeFile(program, '', { mode: 0o755 });
  assert.equal(await findProgram('', { PATH: `/nowhere:${folder}` }), program);
  assert.equal(await findProgram(program, {}), program);
  assert.equal(await findProgram('/nowhere/updraft', { PATH: folder }), undefined);
  await fs.rm(folder, { recursive: true });
});

/** An editor whose agent panel appears when it is looked for so many times; never, if that is 0. */
const editor = (looks: number, isExpected: boolean): EditorCommands & { sent: unknown[] } => {
  let looked = 0;
  const sent: unknown[] = [];
  return {
    sent,
    all: async () => (++looked >= looks && looks > 0 ? [PANEL] : []),
    run: async (...words) => void sent.push(words),
    isPanelExpected: () => isExpected,
  };
};

test('an agent panel is waited for while the editor loads, and not where there will be none', async () => {
  assert.equal(await hasPanel(editor(3, true)), true);
  assert.equal(await hasPanel(editor(3, false)), false);
  assert.equal(await hasPanel(editor(0, true), 300), false);
});

test('work goes to the panel, or to an agent of ours that can be asked', async () => {
  const run = { id: 'r1', status: 'running', message: 'm', goal: 'g', answer: '', done: 0, steps: 2, waits: [{ id: 'q', kind: 'question', text: '?' }] };
  const api = { start: async () => ({ id: 'r1' }), run: async () => run } as unknown as ApiClient;
  const panel = editor(1, true);
  const agent = new AgentDispatch(panel, async () => api);
  await assert.rejects(agent.control('status', {}), /no work was dispatched/);
  assert.deepEqual(await agent.dispatch({ prompt: 'Do it' }), { success: true });
  assert.deepEqual(panel.sent, [[PANEL, { action: 'sendMessage', text: 'Do it' }]]);
  await assert.rejects(agent.control('status', {}), /agent panel/);
  const own = new AgentDispatch(editor(0, false), async () => api);
  assert.deepEqual(await own.dispatch({ prompt: 'Do it' }), { success: true, run: 'r1' });
  assert.deepEqual(await own.control('status', {}), {
    success: true, run: 'r1', status: 'working', message: 'm', done: 0, steps: 2, answer: '', waits: [{ id: 'q', approval: false, text: '?' }],
  });
  await assert.rejects(own.dispatch({}), /needs the text `prompt`/);
});
