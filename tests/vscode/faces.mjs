// The other faces of a run beside the editor: a terminal that is attached to it, its page, and an MCP client.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const PATIENCE = 30_000;

// Colours, movements of the cursor and titles.
const CONTROL = /\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78MDE])/g;

// A command in a terminal of its own.
export class Terminal {
  #said = '';
  #watchers = new Set();
  static #started = [];

  static start(updraft, words, { env, cwd }) {
    const terminal = new Terminal();
    Terminal.#started.push(terminal);
    const script = path.join(import.meta.dirname, 'terminal.py');
    terminal.process = spawn('python3', [script, updraft, ...words], {
      env: { ...env, TERM: 'xterm-256color', LANG: 'C.UTF-8' }, cwd, stdio: ['pipe', 'pipe', 'inherit'],
    });
    terminal.ended = once(terminal.process, 'exit');
    terminal.process.stdout.on('data', (data) => {
      terminal.#said += data;
      for (const wake of terminal.#watchers) wake();
    });
    return terminal;
  }

  // All that was ever on it, without what only moves or colours.
  text() {
    return this.#said.replace(CONTROL, '');
  }

  // Waits until it has shown a text, letter by letter: rows may be broken anywhere between words.
  async shows(words) {
    const plain = (text) => text.replace(/\s+/g, ' ');
    const seen = () => plain(this.text()).includes(plain(words));
    const deadline = AbortSignal.timeout(PATIENCE);
    while (!seen()) {
      assert.ok(!deadline.aborted, `the terminal does not show "${words}":\n${this.text().slice(-4_000)}`);
      await new Promise((done, failed) => {
        this.#watchers.add(done);
        deadline.onabort = () => failed(new Error(`the terminal does not show "${words}":\n${this.text().slice(-4_000)}`));
        if (seen()) done();
      });
      this.#watchers.clear();
    }
  }

  types(text) {
    this.process.stdin.write(text);
  }

  async stop() {
    if (this.process.exitCode === null) this.process.kill();
    await this.ended;
  }

  // Stops all of them, also those that a failed test has left.
  static stopAll() {
    return Promise.allSettled(Terminal.#started.map((terminal) => terminal.stop()));
  }
}

// The official MCP client at the server's own endpoint.
export class McpClient {
  static async connect(packages, address, token) {
    const resolve = createRequire(path.join(packages, 'node_modules', 'x.js')).resolve;
    const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(resolve('@modelcontextprotocol/client')));
    const one = new McpClient();
    one.client = new Client({ name: 'one of four', version: '0' });
    const headers = { Authorization: `Bearer ${token}` };
    await one.client.connect(new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit: { headers } }));
    return one;
  }

  async call(name, args) {
    const { content, isError, structuredContent } = await this.client.callTool({ name, arguments: args });
    const text = content.map((part) => part.text).join('\n');
    assert.ok(!isError, text);
    return { text, data: structuredContent };
  }

  stop() {
    return this.client.close();
  }
}

// Opens the page of a run in the browser of the test, and lets its owner in.
export const openRun = async (world, updraft, run) => {
  const options = { env: world.environment, cwd: world.work };
  const { stdout } = await promisify(execFile)(updraft, ['open', '--print'], options);
  const page = await world.context.newPage();
  const entry = /https?:\/\/\S+/.exec(stdout)[0];
  await page.goto(entry);
  await page.waitForURL(new URL('/', entry).href); // The page behind the link goes there by itself; it would interrupt what comes next.
  await page.goto(new URL(`/runs/${run}`, entry).href);
  return page;
};
