// The server of this folder: found if one runs, started otherwise, and stopped with the editor unless a run is at work.

import { spawn } from 'node:child_process';
import fs from 'node:fs/promises';
import path from 'node:path';

import * as vscode from 'vscode';

import { workspaceFolder } from '../bridge/editorFiles.ts';
import { ApiClient } from './api.ts';
import { findProgram, lastAddress, serveToken, stateFolder } from './places.ts';

/** How long a server may take to say that it is there. */
const KNOCK_MS = 2_000;
/** How long a server that was started may take to listen. */
const START_MS = 30_000;
/** How long the end of the editor may be held up. */
const FAREWELL_MS = 2_000;
const LOOK_MS = 50;
const REMEMBERED = 'updraft.server';

/** A server that we started. */
interface OwnServer {
  pid: number;
  address: string;
}

/** What is in the way of a server. */
export class Lack extends Error {
  readonly kind: 'missing' | 'folderless' | 'failed';

  constructor(kind: Lack['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

export class ServerLink {
  readonly #memory: vscode.Memento;
  readonly #storage: vscode.Uri;
  readonly #log: vscode.LogOutputChannel;
  #client: ApiClient | undefined;
  #connecting: Promise<ApiClient> | undefined;

  constructor({ workspaceState, storageUri, globalStorageUri }: vscode.ExtensionContext, log: vscode.LogOutputChannel) {
    this.#memory = workspaceState;
    this.#storage = storageUri ?? globalStorageUri;
    this.#log = log;
  }

  /** The program `updraft`, if it is there. */
  program(): Promise<string | undefined> {
    return findProgram(vscode.workspace.getConfiguration('updraft').get<string>('path', ''), process.env);
  }

  /** A client of the server of this folder, which is started if none runs. */
  connect(): Promise<ApiClient> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** A client of the server of this folder, if one runs. */
  async find(): Promise<ApiClient | undefined> {
    const folder = workspaceFolder();
    if (folder === undefined) return undefined;
    if (this.#client !== undefined && (await this.#serves(this.#client, folder.fsPath))) return this.#client;
    const state = stateFolder(process.env);
    const token = await serveToken(state);
    const addresses = [await lastAddress(state), this.#memory.get<OwnServer>(REMEMBERED)?.address];
    for (const address of new Set(addresses)) {
      if (address === undefined || token === undefined) continue;
      const client = new ApiClient(address, token);
      if (await this.#serves(client, folder.fsPath)) {
        this.#log.info(`server at ${address}`);
        this.#client = client;
        return client;
      }
    }
    this.#client = undefined;
    return undefined;
  }

  /** Stops a server that we started. With `isPolite`, only if no run is at work: those go on without the editor. */
  async stop(isPolite: boolean): Promise<'stopped' | 'busy' | 'not ours'> {
    const own = this.#memory.get<OwnServer>(REMEMBERED);
    const folder = workspaceFolder();
    const token = await serveToken(stateFolder(process.env));
    if (own === undefined || folder === undefined || token === undefined) return 'not ours';
    const client = new ApiClient(own.address, token);
    // By now another process may have its number.
    if (!(await this.#serves(client, folder.fsPath))) return 'not ours';
    if (isPolite && (await client.running(FAREWELL_MS).catch(() => 1)) > 0) return 'busy';
    process.kill(own.pid, 'SIGTERM');
    this.#client = undefined;
    await this.#memory.update(REMEMBERED, undefined);
    return 'stopped';
  }

  async #connect(): Promise<ApiClient> {
    const found = await this.find();
    if (found !== undefined) return found;
    const folder = workspaceFolder();
    if (folder === undefined || folder.scheme !== 'file') throw new Lack('folderless', 'open a folder of this machine first');
    const program = await this.program();
    if (program === undefined) {
      throw new Lack('missing', 'the program `updraft` was not found: install it, or set `updraft.path`');
    }
    this.#client = await this.#start(program, folder.fsPath);
    return this.#client;
  }

  /** Starts a server that outlives the editor, so that a run does. */
  async #start(program: string, folder: string): Promise<ApiClient> {
    await vscode.workspace.fs.createDirectory(this.#storage);
    // It says how to get in, once: nobody else may read that.
    const file = path.join(this.#storage.fsPath, 'serve.log');
    await fs.rm(file, { force: true });
    const log = await fs.open(file, 'w', 0o600);
    const more = vscode.workspace.getConfiguration('updraft').get<string[]>('serve.arguments', []);
    const words = ['serve', '--listen', '127.0.0.1:0', '--workspace', folder, ...more];
    this.#log.info(`starting ${program} ${words.join(' ')}`);
    const child = spawn(program, words, { cwd: folder, detached: true, stdio: ['ignore', log.fd, log.fd] });
    let ended: string | undefined;
    child.once('error', (error) => { ended = error.message; });
    child.once('exit', (code, signal) => { ended = `it ended with ${code ?? signal}`; });
    child.unref();
    await log.close();
    const deadline = Date.now() + START_MS;
    for (;;) {
      const said = await fs.readFile(file, 'utf8');
      const address = /page at (https?:\/\/[^/\s]+)/.exec(said)?.[1];
      const token = await serveToken(stateFolder(process.env));
      if (address !== undefined && token !== undefined && child.pid !== undefined) {
        const client = new ApiClient(address, token);
        await client.health();
        await this.#memory.update(REMEMBERED, { pid: child.pid, address } satisfies OwnServer);
        this.#log.info(`server at ${address}, process ${child.pid}`);
        return client;
      }
      if (ended !== undefined || Date.now() > deadline) {
        // The address of the page would let others in.
        const words = said.replace(/page at \S+/g, 'page at …').trim();
        const why = `\`updraft serve\` did not start: ${ended ?? 'it takes too long'}\n${words}`;
        this.#log.error(why);
        throw new Lack('failed', why);
      }
      await new Promise((done) => setTimeout(done, LOOK_MS));
    }
  }

  async #serves(client: ApiClient, folder: string): Promise<boolean> {
    try {
      const { workspace } = await client.health(KNOCK_MS);
      return workspace !== undefined && workspace === (await fs.realpath(folder));
    } catch {
      return false;
    }
  }
}
