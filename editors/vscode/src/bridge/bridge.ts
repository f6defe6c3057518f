// The bridge as long as the editor is open: opened by its settings, opened again when they change or its port is free.

import { randomBytes } from 'node:crypto';

import * as vscode from 'vscode';

import type { ApiClient } from '../serve/api.ts';
import { BridgeHost } from './bridgeHost.ts';
import { AgentDispatch, type EditorCommands, PANEL } from './dispatch.ts';
import { EditorFiles, workspaceFolder } from './editorFiles.ts';
import { BridgeFault, Code, type Params } from './wire.ts';

/** How long to wait before trying again to get a port that another window has. */
const AGAIN_MS = 2_000;

const settings = (): vscode.WorkspaceConfiguration => vscode.workspace.getConfiguration('antigravity.mcp');

/** The editor's own commands. */
const editorCommands: EditorCommands = {
  all: () => vscode.commands.getCommands(true),
  run: (command, argument) => vscode.commands.executeCommand(command, argument),
  isPanelExpected: () => {
    const brings = ({ packageJSON }: vscode.Extension<unknown>): boolean =>
      (packageJSON?.contributes?.commands ?? []).some?.(({ command }: { command?: string }) => command === PANEL) ?? false;
    return /antigravity/i.test(vscode.env.appName) || vscode.extensions.all.some(brings);
  },
};

export class Bridge implements vscode.Disposable {
  readonly #log: vscode.LogOutputChannel;
  readonly #agent: AgentDispatch;
  readonly #files: EditorFiles;
  readonly #parts: vscode.Disposable[] = [];
  #host: BridgeHost | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Counts changes of the settings; an attempt that is overtaken by one gives up. */
  #era = 0;
  #problem: string | undefined;

  constructor(log: vscode.LogOutputChannel, api: () => Promise<ApiClient>) {
    this.#log = log;
    this.#agent = new AgentDispatch(editorCommands, api);
    this.#files = new EditorFiles(
      () => settings().get<number>('readLimit', 102_400),
      (path, bytes) => this.#tellWritten(path, bytes),
    );
    this.#parts.push(
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('antigravity.mcp')) void this.open();
      }),
      this.#watch(),
    );
  }

  /** Where it listens, or why it does not. */
  get state(): { port: number } | { problem: string } {
    return this.#host === undefined ? { problem: this.#problem ?? 'it is being opened' } : { port: this.#host.port };
  }

  /** Opens it as the settings say. */
  async open(): Promise<void> {
    const era = ++this.#era;
    clearTimeout(this.#timer);
    await this.#host?.close();
    this.#host = undefined;
    const [port, token] = [settings().get<number>('port', 8888), settings().get<string>('token', '')];
    if (token.trim() === '') {
      this.#problem = 'no token is set';
      this.#log.info('the bridge is closed: `antigravity.mcp.token` is not set');
      return;
    }
    try {
      const host = await BridgeHost.listen(port, token, (method, params) => this.#perform(method, params));
      if (era !== this.#era) return void host.close();
      this.#host = host;
      this.#problem = undefined;
      this.#log.info(`bridge at ws://127.0.0.1:${host.port}`);
    } catch (error) {
      const problem = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
        ? `port ${port} is in use, perhaps by another window`
        : (error as Error).message;
      if (problem !== this.#problem) this.#log.warn(`the bridge waits: ${problem}`);
      this.#problem = problem;
      if (era === this.#era) this.#timer = setTimeout(() => void this.open(), AGAIN_MS);
    }
  }

  dispose(): void {
    this.#era += 1;
    clearTimeout(this.#timer);
    void this.#host?.close();
    for (const part of this.#parts) part.dispose();
  }

  #perform(method: string, params: Params): Promise<unknown> {
    switch (method) {
      case 'fs/read': return this.#files.read(params);
      case 'fs/write': return this.#files.write(params);
      case 'fs/list': return this.#files.list(params);
      case 'agent/dispatch': return this.#agent.dispatch(params);
      case 'agent/status': return this.#agent.control('status', params);
      case 'agent/pause': return this.#agent.control('pause', params);
      case 'agent/resume': return this.#agent.control('resume', params);
      case 'agent/cancel': return this.#agent.control('cancel', params);
      default: return Promise.reject(new BridgeFault(Code.unknown, `no method \`${method}\``));
    }
  }

  #tellWritten(path: string, bytes: number): void {
    this.#host?.announce(path, bytes);
    // Nobody waits for the person.
    void vscode.window.showInformationMessage(`The bridge wrote ${path}`, 'Show').then(async (chosen) => {
      const root = workspaceFolder();
      if (chosen !== undefined && root !== undefined) await vscode.window.showTextDocument(vscode.Uri.joinPath(root, path));
    });
  }

  /** Clients learn of every change in the workspace, whoever makes it: they may wait for a file. */
  #watch(): vscode.Disposable {
    const watcher = vscode.workspace.createFileSystemWatcher('**/*');
    const tell = async (uri: vscode.Uri): Promise<void> => {
      const path = vscode.workspace.asRelativePath(uri, false);
      if (this.#host === undefined || /(^|\/)\.git(\/|$)/.test(path)) return;
      const stat = await vscode.workspace.fs.stat(uri).then(undefined, () => undefined);
      this.#host?.announce(path, stat?.size);
    };
    return vscode.Disposable.from(watcher, watcher.onDidCreate(tell), watcher.onDidChange(tell), watcher.onDidDelete(tell));
  }
}

/** Makes a token, sets it, and puts it into the clipboard for the other end. */
export async function makeToken(): Promise<void> {
  const token = randomBytes(32).toString('hex');
  await settings().update('token', token, vscode.ConfigurationTarget.Global);
  await vscode.env.clipboard.writeText(token);
  const words = 'The bridge has a new token. It is in the clipboard; pass it to `updraft bridge` in UPDRAFT_BRIDGE_TOKEN.';
  void vscode.window.showInformationMessage(words);
}
