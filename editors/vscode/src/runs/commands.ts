// What people can do with runs from the editor.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import * as vscode from 'vscode';

import { tellMissing } from '../install.ts';
import { Lack, type ServerLink } from '../serve/server.ts';
import { goalFor } from './goal.ts';
import type { RunStore } from './runStore.ts';
import type { RunNode } from './runTree.ts';
import { firstLine } from './words.ts';

/** Says what went wrong, and what can be done about it. */
export async function tellProblem(error: unknown): Promise<void> {
  if (error instanceof Lack && error.kind === 'missing') await tellMissing();
  else void vscode.window.showErrorMessage(`Updraft: ${(error as Error).message}`);
}

/** A function whose problems are told. */
export const told = <Arguments extends unknown[]>(run: (...words: Arguments) => Promise<unknown>) =>
  async (...words: Arguments): Promise<void> => {
    try {
      await run(...words);
    } catch (error) {
      await tellProblem(error);
    }
  };

export class RunCommands {
  readonly #store: RunStore;
  readonly #link: ServerLink;

  constructor(store: RunStore, link: ServerLink) {
    this.#store = store;
    this.#link = link;
  }

  async start(goal: string): Promise<void> {
    const { id } = await (await this.#link.connect()).start({ goal });
    await this.#store.touched(id);
    await vscode.commands.executeCommand('updraft.runs.focus');
  }

  async newRun(): Promise<void> {
    const prompt = 'What do you want done in this folder?';
    const goal = await vscode.window.showInputBox({ title: 'New run', prompt, ignoreFocusOut: true });
    if (goal?.trim()) await this.start(goal);
  }

  async runOnSelection(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined || editor.selection.isEmpty) return;
    const { document, selection } = editor;
    const path = vscode.workspace.asRelativePath(document.uri, false);
    const [title, prompt] = [`Run on the selection in ${path}`, 'What do you want done with it?'];
    const wish = await vscode.window.showInputBox({ title, prompt, ignoreFocusOut: true });
    if (!wish?.trim()) return;
    // The agent reads the file from disk.
    if (document.isDirty) await document.save();
    const last = selection.end.character === 0 && selection.end.line > selection.start.line ? selection.end.line : selection.end.line + 1;
    await this.start(goalFor(wish, { path, first: selection.start.line + 1, last, text: document.getText(selection) }));
  }

  async steer(node: RunNode, how: 'pause' | 'resume' | 'cancel'): Promise<void> {
    if (node.kind !== 'run') return;
    if (how === 'cancel') {
      const question = `Cancel “${firstLine(node.row.goal)}” for good?`;
      if ((await vscode.window.showWarningMessage(question, { modal: true }, 'Cancel the Run')) === undefined) return;
    }
    await (await this.#link.connect()).steer(node.row.id, how);
    await this.#store.touched(node.row.id);
  }

  async tell(node: RunNode): Promise<void> {
    if (node.kind !== 'run') return;
    const message = await vscode.window.showInputBox({ prompt: 'What should the agents know or do?' });
    if (!message?.trim()) return;
    await (await this.#link.connect()).tell(node.row.id, message);
    await this.#store.touched(node.row.id);
  }

  /** Undoes all that a run has changed, after a question. */
  async undo(node: RunNode): Promise<void> {
    if (node.kind !== 'run') return;
    const question = 'Put back everything that this run changed? Files that were changed since stay as they are.';
    if ((await vscode.window.showWarningMessage(question, { modal: true }, 'Put Back')) === undefined) return;
    const { restored, left } = await (await this.#link.connect()).undo(node.row.id, {});
    const stay = left.length > 0 ? `; ${left.length} stay: ${left.map(({ path }) => path).join(', ')}` : '';
    void vscode.window.showInformationMessage(`Updraft: put back ${restored.length} paths${stay}`);
  }

  /** Opens the page, at a run if one is given. The program makes an address that lets its owner in, once. */
  async openPage(run?: string): Promise<void> {
    const { address } = await this.#link.connect();
    const program = await this.#link.program();
    if (program === undefined) throw new Lack('missing', 'the program `updraft` was not found');
    const { stdout } = await promisify(execFile)(program, ['open', '--print', new URL(address).host]);
    await vscode.env.openExternal(vscode.Uri.parse(stdout.trim()));
    if (run !== undefined) void vscode.window.showInformationMessage(`The run is at ${address}/runs/${run}`);
  }
}
