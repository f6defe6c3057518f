// What a test of the page has: a workspace, the real server, a scripted model, a real browser that reports every fault.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { ScriptedModel } from './model.mjs';

const [packages, updraft, chromiumPath] = ['PACKAGES', 'UPDRAFT', 'CHROMIUM'].map((name) => {
  assert.ok(process.env[name], `${name} is not set; see run.py`);
  return process.env[name];
});
export const require = createRequire(path.join(packages, 'node_modules', 'x.js'));
const { chromium } = require('playwright-core');
const { HtmlValidate } = require('html-validate');
const AXE = await fs.readFile(require.resolve('axe-core/axe.min.js'), 'utf8');

const validator = new HtmlValidate({
  extends: ['html-validate:recommended'],
  rules: {
    // Written by a program: neither its spaces nor the case of its attributes are a matter of taste.
    'no-trailing-whitespace': 'off',
    'no-inline-style': 'error',
    'void-style': 'off',
    'long-title': 'off',
  },
});

export class World {
  static async make({ model = 'parallel', browserArguments = [] } = {}) {
    const world = new World();
    world.folder = await fs.mkdtemp(path.join(os.tmpdir(), 'updraft-page-'));
    world.work = path.join(world.folder, 'work');
    await fs.mkdir(world.work, { recursive: true });
    await fs.writeFile(path.join(world.work, 'sales.csv'), 'date,region,units\n2025-03-01,East,120\n2025-03-02,West,80\n');
    // Whoever writes a file has to be asked for.
    await fs.mkdir(path.join(world.work, '.updraft'));
    await fs.writeFile(path.join(world.work, '.updraft', 'config.toml'), '[rules]\nask = ["write_file"]\n');
    world.model = await new ScriptedModel().start();
    world.environment = {
      PATH: process.env.PATH, HOME: world.folder, UPDRAFT_HOME: path.join(world.folder, 'home'),
      OPENAI_BASE_URL: world.model.url, OPENAI_API_KEY: 'none', NO_COLOR: '1',
    };
    world.command = ['--workspace', world.work, '--model', `openai-compatible/${model}`];
    await world.serve(0);
    world.browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', ...browserArguments] });
    world.context = await world.browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
    world.context.setDefaultTimeout(15_000);
    world.faults = [];
    return world;
  }

  // Starts the server, and learns its address from what it prints.
  async serve(port, listen = '127.0.0.1', more = []) {
    this.server = spawn(updraft, ['serve', '--listen', `${listen}:${port}`, ...this.command, ...more], {
      env: this.environment, cwd: this.work, stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    this.address = await new Promise((done, failed) => {
      const hear = (data) => {
        said += data;
        const found = /page at (https?:\/\/[^/\s]+)(\S+)/.exec(said);
        if (!found) return;
        this.entry = found[1] + found[2];
        done(found[1]);
      };
      this.server.stdout.on('data', hear);
      this.server.stderr.on('data', hear);
      this.server.once('exit', (code) => failed(new Error(`updraft serve ended with ${code}:\n${said}`)));
    });
  }

  // Runs another command of the program, and gives what it prints.
  async run(...words) {
    const { stdout } = await promisify(execFile)(updraft, words, { env: this.environment, cwd: this.work });
    return stdout.trim();
  }

  async stopServer(signal = 'SIGTERM') {
    if (this.server.exitCode !== null || this.server.signalCode !== null) return;
    const ended = once(this.server, 'exit');
    this.server.kill(signal);
    await ended;
  }

  // Opens a page whose faults are collected: errors in the console, exceptions, violations of the security policy.
  async page(context = this.context) {
    const page = await context.newPage();
    const fault = (words) => this.faults.push(words);
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) fault(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => fault(`exception: ${error.stack ?? error}`));
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) => {
        console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    return page;
  }

  async end() {
    await this.browser?.close();
    await this.stopServer();
    this.model.stop();
    await fs.rm(this.folder, { recursive: true, force: true });
  }
}

// Nothing that axe-core can find is wrong with the page as it is, and the page as it was sent is valid HTML.
export const check = async (page) => {
  // Evaluated by the test, not by the page: its security policy forbids that, as it should.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join('\n    ')}`);
  assert.deepEqual(found, [], `axe-core at ${page.url()}`);
  const answer = await page.request.get(page.url());
  const report = await validator.validateString(await answer.text());
  const messages = report.results.flatMap((result) => result.messages);
  const wrong = messages.map(({ ruleId, message, line, column }) => `${line}:${column} ${ruleId}: ${message}`);
  assert.deepEqual(wrong, [], `html-validate at ${page.url()}`);
};
