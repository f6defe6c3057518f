// An MCP client that starts `updraft bridge` and calls its tools.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import readline from 'node:readline';

export class BridgeClient {
  #waiting = new Map();
  #next = 1;

  static async start(updraft, { url, token, env }) {
    const client = new BridgeClient();
    client.process = spawn(updraft, ['bridge', '--url', url], {
      env: { ...env, UPDRAFT_BRIDGE_TOKEN: token }, stdio: ['pipe', 'pipe', 'ignore'],
    });
    readline.createInterface({ input: client.process.stdout }).on('line', (line) => {
      const { id, result, error } = JSON.parse(line);
      client.#waiting.get(id)?.(error ? { isError: true, content: [{ text: error.message }] } : result);
      client.#waiting.delete(id);
    });
    const clientInfo = { name: 'a test', version: '1' };
    await client.#ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    client.#send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return client;
  }

  // Calls a tool: its text, and its data where it gives some. Fails as the tool does.
  async call(name, args = {}) {
    const { content, isError, structuredContent } = await this.#ask('tools/call', { name, arguments: args });
    const text = content.map((part) => part.text).join('\n');
    if (isError) throw new Error(text);
    return { text, data: structuredContent };
  }

  async stop() {
    const ended = once(this.process, 'exit');
    this.process.stdin.end();
    await ended;
  }

  #ask(method, params) {
    const id = this.#next++;
    const answered = new Promise((done) => this.#waiting.set(id, done));
    this.#send({ jsonrpc: '2.0', id, method, params });
    return answered;
  }

  #send(message) {
    this.process.stdin.write(`${JSON.stringify(message)}\n`);
  }
}
