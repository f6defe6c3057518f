// The bridge's socket, by a real client: who is let in, what is read, what is answered.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { WebSocket } from 'ws';

import { BridgeHost } from '../src/bridge/bridgeHost.ts';
import { BridgeFault, Code } from '../src/bridge/wire.ts';

const TOKEN = 'the token of this test';
let host: BridgeHost;

before(async () => {
  host = await BridgeHost.listen(0, TOKEN, async (method, params) => {
    if (method === 'echo') return params;
    throw new BridgeFault(Code.unknown, `no method \`${method}\``);
  });
});
after(() => host.close());

const url = (): string => `ws://127.0.0.1:${host.port}`;

/** The status with which a connection is refused; 101 if it is opened. */
const opened = (headers: Record<string, string>, place = ''): Promise<number> =>
  new Promise((done) => {
    const socket = new WebSocket(url() + place, { headers });
    socket.on('open', () => { socket.terminate(); done(101); });
    socket.on('unexpected-response', (_, response) => { response.resume(); done(response.statusCode ?? 0); });
    socket.on('error', () => {});
  });

/** Sends messages, and gives what comes back until there are so many answers or the connection is closed. */
const conversation = (headers: Record<string, string>, messages: (string | Buffer)[], answers: number): Promise<unknown[]> =>
  new Promise((done) => {
    const socket = new WebSocket(url(), { headers });
    const heard: unknown[] = [];
    const end = (): void => { socket.terminate(); done(heard); };
    socket.on('open', () => messages.forEach((message) => socket.send(message)));
    socket.on('message', (data) => {
      heard.push(JSON.parse(data.toString()));
      if (heard.length === answers) end();
    });
    socket.on('close', (code) => { heard.push(code); done(heard); });
    socket.on('error', () => {});
  });

const request = (id: unknown, method: string, params?: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, method, params });
const bearer = { authorization: `Bearer ${TOKEN}` };
const codes = (heard: unknown[]): unknown[] => heard.map((one) => (one as { error?: { code: number } }).error?.code ?? one);

test('only programs with the token are let in, and no web page', async () => {
  assert.equal(await opened(bearer), 101);
  assert.equal(await opened({ authorization: 'Bearer wrong' }), 401);
  assert.equal(await opened({ authorization: `Basic ${TOKEN}` }), 401);
  assert.equal(await opened({ ...bearer, origin: 'http://127.0.0.1' }), 403);
  assert.equal(await opened({}, `/?token=${encodeURIComponent(TOKEN)}`), 400);
  assert.equal((await fetch(`http://127.0.0.1:${host.port}/`)).status, 426);
});

test('the token may be the first message', async () => {
  const [first, second] = await conversation({}, [request(1, 'auth', { token: TOKEN }), request(2, 'echo', { a: 1 })], 2);
  assert.deepEqual(first, { jsonrpc: '2.0', id: 1, result: { success: true } });
  assert.deepEqual(second, { jsonrpc: '2.0', id: 2, result: { a: 1 } });
});

test('whoever says something else first hears why, and is closed', async () => {
  assert.deepEqual(codes(await conversation({}, [request(1, 'auth', { token: 'wrong' }), request(2, 'echo', {})], 9)), [Code.notLetIn, 1008]);
  assert.deepEqual(codes(await conversation({}, [request(1, 'echo', {})], 9)), [Code.notLetIn, 1008]);
  assert.deepEqual(codes(await conversation({}, ['{'], 9)), [Code.garbage, 1008]);
  // Too much to be a token: nothing of it is answered.
  assert.deepEqual(await conversation({}, [request(1, 'auth', { token: 'x'.repeat(100_000) })], 9), [1006]);
});

test('messages that are no requests are refused, and the connection stays', async () => {
  const heard = await conversation(bearer, [
    '{', '[]', '7', request(1, ''), JSON.stringify({ id: 1, method: 'echo' }), request([1], 'echo'), request(1, 'echo', [1]),
    Buffer.from([1, 2]), request(1, 'nothing'), request(2, 'auth', { token: 'wrong' }),
    JSON.stringify({ jsonrpc: '2.0', method: 'echo' }), request('last', 'echo', { fine: true }),
  ], 11);
  assert.deepEqual(codes(heard), [
    Code.garbage, Code.invalid, Code.invalid, Code.invalid, Code.invalid, Code.invalid, Code.unfit,
    Code.invalid, Code.unknown, Code.notLetIn, { jsonrpc: '2.0', id: 'last', result: { fine: true } },
  ]);
});

test('clients are told of changes', async () => {
  const socket = new WebSocket(url(), { headers: bearer });
  await new Promise((done) => socket.on('open', done));
  const told = new Promise((done) => socket.on('message', (data) => done(JSON.parse(data.toString()))));
  host.announce('a.txt', 3);
  assert.deepEqual(await told, { jsonrpc: '2.0', method: 'fs/changed', params: { path: 'a.txt', bytes: 3 } });
  socket.terminate();
});

test('there is no bridge without a token', async () => {
  await assert.rejects(BridgeHost.listen(0, ' ', async () => undefined), /token/);
});
