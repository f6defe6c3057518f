// Files of the workspace, read and written by the editor's own means, so that what is open in it follows.

import fs from 'node:fs/promises';
import path from 'node:path';

import * as vscode from 'vscode';

import { type FolderReader, listFiles, type ListedEntry } from './fileList.ts';
import { asked } from './lines.ts';
import { mayBeWritten, placed } from './place.ts';
import { BridgeFault, Code, optionalText, type Params, text } from './wire.ts';

/** The largest file that is read or written. */
const LARGEST_FILE = 32 * 1024 * 1024;

/** The folder that the bridge and runs work in: the first of the workspace. */
export function workspaceFolder(): vscode.Uri | undefined {
  return vscode.workspace.workspaceFolders?.[0]?.uri;
}

const isThere = async (uri: vscode.Uri): Promise<boolean> => {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
};

const decoded = (bytes: Uint8Array): string | undefined => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
};

/** The document that is open for a file, if there is one. */
export const openDocument = (uri: vscode.Uri): vscode.TextDocument | undefined =>
  vscode.workspace.textDocuments.find((document) => !document.isClosed && document.uri.toString() === uri.toString());

/** Makes a file have a text, also in the editor if it is open there. */
export async function replaceText(uri: vscode.Uri, content: string): Promise<void> {
  const bytes = new TextEncoder().encode(content);
  const document = openDocument(uri);
  if (document !== undefined) {
    const edit = new vscode.WorkspaceEdit();
    const whole = new vscode.Range(0, 0, document.lineCount, 0);
    const ending = content.includes('\r\n') ? vscode.EndOfLine.CRLF : vscode.EndOfLine.LF;
    edit.set(uri, [vscode.TextEdit.setEndOfLine(ending), vscode.TextEdit.replace(whole, content)]);
    await vscode.workspace.applyEdit(edit);
    await document.save();
    const written = await vscode.workspace.fs.readFile(uri).then(undefined, () => new Uint8Array());
    // What is done on saving (formatting, a last line break) may have made another text of it.
    if (Buffer.compare(written, bytes) === 0) return;
  }
  await vscode.workspace.fs.writeFile(uri, bytes);
}

/** Carries out `fs/read`, `fs/write` and `fs/list`. */
export class EditorFiles {
  readonly #readLimit: () => number;
  readonly #onWritten: (path: string, bytes: number) => void;

  constructor(readLimit: () => number, onWritten: (path: string, bytes: number) => void) {
    this.#readLimit = readLimit;
    this.#onWritten = onWritten;
  }

  async read(params: Params): Promise<unknown> {
    const { uri, relative } = await this.#locate(text('fs/read', params, 'path'));
    const content = await this.#content(uri, relative);
    const lines = asked(content, params);
    const size = Buffer.byteLength(lines?.content ?? content);
    const limit = this.#readLimit();
    if (size > limit) {
      const why =
        `\`${relative}\`: ${size} bytes were asked for, and at most ${limit} are read at once; ask for fewer lines with ` +
        '`start_line` and `end_line`, or raise `antigravity.mcp.readLimit` in the settings of the editor';
      throw new BridgeFault(Code.refused, why, { exists: true });
    }
    return lines ?? { content };
  }

  async write(params: Params): Promise<unknown> {
    const [given, content] = [text('fs/write', params, 'path'), text('fs/write', params, 'content')];
    const { uri, relative } = await this.#locate(given);
    mayBeWritten(relative);
    const size = Buffer.byteLength(content);
    if (size > LARGEST_FILE) throw new BridgeFault(Code.refused, `\`${relative}\` would have ${size} bytes, and at most 32 MB are written`);
    await replaceText(uri, content);
    this.#onWritten(relative, size);
    return { success: true };
  }

  async list(params: Params): Promise<unknown> {
    const recursive = params['recursive'] ?? true;
    // A value that is not understood must not mean "everything".
    if (typeof recursive !== 'boolean') throw new BridgeFault(Code.unfit, '`recursive` is true or false');
    const { relative, root } = await this.#locate(optionalText('fs/list', params, 'path') ?? '.');
    const reader: FolderReader = {
      entries: async (folder) => (await vscode.workspace.fs.readDirectory(vscode.Uri.joinPath(root, folder))).map(entry),
      text: async (file) => decoded(await vscode.workspace.fs.readFile(vscode.Uri.joinPath(root, file))),
    };
    try {
      return await listFiles(reader, relative, recursive);
    } catch (error) {
      throw new BridgeFault(Code.refused, `\`${relative}\` cannot be listed: ${(error as Error).message}`);
    }
  }

  async #content(uri: vscode.Uri, relative: string): Promise<string> {
    const document = openDocument(uri);
    // What somebody is writing counts, not what is on disk: the client sees what the person sees.
    if (document?.isDirty) return document.getText();
    const unread = async (why: string): Promise<never> => {
      throw new BridgeFault(Code.refused, `\`${relative}\` ${why}`, { exists: await isThere(uri) });
    };
    let bytes: Uint8Array;
    try {
      const { size, type } = await vscode.workspace.fs.stat(uri);
      if (type & vscode.FileType.Directory) return await unread('is a folder; list it with `fs/list`');
      if (size > LARGEST_FILE) return await unread('has more than 32 MB');
      bytes = await vscode.workspace.fs.readFile(uri);
    } catch (error) {
      if (error instanceof BridgeFault) throw error;
      return await unread(`cannot be read: ${(error as Error).message}`);
    }
    return decoded(bytes) ?? (await unread('is not text'));
  }

  /** The place of a path, which must not lead out of the workspace by a link either. */
  async #locate(given: string): Promise<{ uri: vscode.Uri; relative: string; root: vscode.Uri }> {
    const root = workspaceFolder();
    if (root === undefined) throw new BridgeFault(Code.refused, 'no folder is open in the editor; open one');
    const relative = placed(given, root.fsPath);
    if (root.scheme === 'file' && !(await isWithin(root.fsPath, path.join(root.fsPath, relative)))) {
      throw new BridgeFault(Code.refused, `\`${relative}\` leads out of the workspace by a link`);
    }
    return { uri: vscode.Uri.joinPath(root, relative), relative, root };
  }
}

const entry = ([name, type]: [string, vscode.FileType]): ListedEntry => {
  // A link to a folder is listed, not followed: it may lead anywhere.
  if (type & vscode.FileType.SymbolicLink) return { name, kind: 'other' };
  return { name, kind: type & vscode.FileType.Directory ? 'folder' : 'file' };
};

/** Whether a path, or what there is of it, really is within a folder. */
async function isWithin(folder: string, wanted: string): Promise<boolean> {
  const root = await fs.realpath(folder);
  for (let at = wanted; ; at = path.dirname(at)) {
    try {
      const real = await fs.realpath(at);
      return real === root || real.startsWith(root + path.sep);
    } catch (error) {
      // A link that leads nowhere would be written through.
      if (await fs.lstat(at).then(() => true, () => false)) return false;
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || at === path.dirname(at)) return false;
    }
  }
}
