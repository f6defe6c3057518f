// Where Updraft keeps what the editor needs: the program, and the address and token of a server that runs.

import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

type Environment = Record<string, string | undefined>;

/** Its state folder: all in `UPDRAFT_HOME` if that is set, or else by the XDG specification, as the program has it. */
export function stateFolder(environment: Environment, home = os.homedir()): string {
  const given = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const own = given('UPDRAFT_HOME');
  if (own !== undefined) return path.resolve(own);
  const state = given('XDG_STATE_HOME');
  const base = state !== undefined && path.isAbsolute(state) ? state : path.join(home, '.local', 'state');
  return path.join(base, 'updraft');
}

/** The address of the server that was started last, as `updraft open` finds it. */
export async function lastAddress(state: string): Promise<string | undefined> {
  const text = await fs.readFile(path.join(state, 'serve.address'), 'utf8').catch(() => '');
  const [bound, origin] = text.trim().split(/\s+/);
  return origin ?? (bound ? `http://${bound}` : undefined);
}

/** The token of servers on this machine. */
export async function serveToken(state: string): Promise<string | undefined> {
  const text = await fs.readFile(path.join(state, 'serve.token'), 'utf8').catch(() => '');
  return text.trim() || undefined;
}

/** The program: the one in the settings, or the first in `PATH`. */
export async function findProgram(setting: string, environment: Environment): Promise<string | undefined> {
  const isProgram = async (file: string): Promise<boolean> =>
    fs.access(file, fs.constants.X_OK).then(async () => (await fs.stat(file)).isFile(), () => false);
  if (setting.trim() !== '') {
    const file = setting.trim().replace(/^~(?=\/|$)/, os.homedir());
    return (await isProgram(file)) ? file : undefined;
  }
  // Editors that were not started from a terminal often lack the folder that installers use.
  const usual = ['.local', '.cargo'].map((folder) => path.join(os.homedir(), folder, 'bin'));
  const folders = [...(environment['PATH'] ?? '').split(path.delimiter), ...usual];
  const names = process.platform === 'win32' ? ['updraft.exe', 'updraft.cmd'] : ['updraft'];
  for (const folder of folders.filter((folder) => path.isAbsolute(folder))) {
    for (const name of names) {
      const file = path.join(folder, name);
      if (await isProgram(file)) return file;
    }
  }
  return undefined;
}
