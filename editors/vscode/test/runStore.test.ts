// What the editor knows of runs, while the server fails now and then.

import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';

import type { ApiClient, Run, RunRow } from '../src/serve/api.ts';
import type { ServerLink } from '../src/serve/server.ts';

// The editor is not here: of its interface, this is what the store uses.
const EDITOR = `export class EventEmitter {
  #listeners = [];
  event = (listener) => { this.#listeners.push(listener); };
  fire() { for (const listener of this.#listeners) listener(); }
  dispose() { this.#listeners = []; }
}
export const commands = { executeCommand: async () => undefined };`;
registerHooks({
  resolve: (name, context, next) =>
    name === 'vscode' ? { url: `data:text/javascript,${encodeURIComponent(EDITOR)}`, shortCircuit: true } : next(name, context),
});
const { RunStore } = await import('../src/runs/runStore.ts');

/** A server with one run, whose stream says nothing. */
class QuietServer {
  events = 1;
  status = 'waiting';
  waits: string[] = [];
  readings = 0;
  /** What the next readings of the run are answered with, instead of what it is. */
  answers: (() => Promise<Run>)[] = [];

  client = {
    runs: async () => [{ id: 'r', status: this.status, events: this.events } as RunRow],
    run: () => {
      this.readings += 1;
      return this.answers.shift()?.() ?? Promise.resolve(this.now());
    },
    steps: async () => [],
    follow: (_id: string, _after: number, signal: AbortSignal) =>
      new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true })),
  } as unknown as ApiClient;

  link = { connect: async () => this.client, find: async () => this.client } as unknown as ServerLink;

  now = () => ({ status: this.status, waits: this.waits.map((id) => ({ id })) }) as unknown as Run;
}

const waitsOf = (store: InstanceType<typeof RunStore>) => store.detail('r')?.run.waits.map(({ id }) => id);
const settled = () => new Promise((done) => setTimeout(done, 10));

test('what a run waits for is known with the next list if its stream did not tell it, or a reading failed', async (t) => {
  const server = new QuietServer();
  const store = new RunStore(server.link);
  t.after(() => store.dispose());
  let changes = 0;
  store.onDidChange(() => { changes += 1; });
  await store.refresh();
  await settled();
  assert.deepEqual(waitsOf(store), []);
  [server.events, server.waits] = [2, ['a.question']];
  server.answers = [() => Promise.reject(new Error('the server is busy'))];
  await store.refresh();
  await settled();
  assert.deepEqual(waitsOf(store), [], 'the reading has failed');
  const before = changes;
  await store.refresh();
  await settled();
  assert.deepEqual([waitsOf(store), changes > before], [['a.question'], true]);
  const { readings } = server;
  await store.refresh();
  await settled();
  assert.equal(server.readings, readings, 'nothing is new');
});

test('the end of a run is known although its stream does not end', async (t) => {
  const server = new QuietServer();
  const store = new RunStore(server.link);
  t.after(() => store.dispose());
  await store.refresh();
  await settled();
  [server.events, server.status] = [2, 'done'];
  await store.refresh();
  await settled();
  assert.equal(store.detail('r')?.run.status, 'done');
});

test('a reading that took long does not replace what a later one has read', async (t) => {
  const server = new QuietServer();
  const store = new RunStore(server.link);
  t.after(() => store.dispose());
  let answer = (_run: Run): void => undefined;
  const old = server.now();
  server.answers = [() => new Promise((done) => { answer = done; })];
  const slow = store.read('r');
  await settled();
  server.waits = ['a.question'];
  await store.read('r');
  answer(old);
  assert.deepEqual((await slow).run.waits.map(({ id }) => id), ['a.question']);
  assert.deepEqual(waitsOf(store), ['a.question']);
});
