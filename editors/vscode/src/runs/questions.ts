// Questions and approvals of runs: shown as notifications once, and answered there or from the view.

import * as vscode from 'vscode';

import type { Wait } from '../serve/api.ts';
import type { ServerLink } from '../serve/server.ts';
import type { RunStore } from './runStore.ts';

/** A notification has room for few buttons. */
const MOST_BUTTONS = 3;
const OTHER = 'Other…';

export class Questions {
  readonly #store: RunStore;
  readonly #link: ServerLink;
  readonly #openPage: (run: string) => Promise<void>;
  /** What was shown already. An address is never used for another question. */
  readonly #shown = new Set<string>();

  constructor(store: RunStore, link: ServerLink, openPage: (run: string) => Promise<void>) {
    this.#store = store;
    this.#link = link;
    this.#openPage = openPage;
    store.onDidChange(() => this.#look());
  }

  #look(): void {
    if (!vscode.workspace.getConfiguration('updraft').get<boolean>('notifications', true)) return;
    for (const { run } of this.#store.details) {
      for (const wait of run.waits) {
        const key = `${run.id} ${wait.id}`;
        if (this.#shown.has(key)) continue;
        this.#shown.add(key);
        void this.respond(run.id, wait);
      }
    }
  }

  /** Asks the person, and passes the answer on. */
  async respond(run: string, wait: Wait): Promise<void> {
    try {
      const isDone = wait.kind === 'approval' ? await this.#approve(run, wait) : await this.#answer(run, wait);
      if (isDone) await this.#store.touched(run);
    } catch (error) {
      void vscode.window.showWarningMessage(`Updraft: ${(error as Error).message}`);
      await this.#store.touched(run);
    }
  }

  async #approve(run: string, wait: Wait): Promise<boolean> {
    const chosen = await vscode.window.showWarningMessage(`Updraft: ${wait.text}`, 'Allow', 'Allow in This Run', 'Refuse');
    if (chosen === undefined) return false;
    const client = await this.#link.connect();
    if (chosen === 'Refuse') {
      const because = await vscode.window.showInputBox({ prompt: 'What the agent should know (may be empty)' });
      await client.approve(run, { approval: wait.id, allow: false, because: because ?? '' });
    } else {
      await client.approve(run, { approval: wait.id, allow: true, ...(chosen === 'Allow' ? {} : { always: 'run' }) });
    }
    return true;
  }

  async #answer(run: string, wait: Wait): Promise<boolean> {
    if (wait.form) {
      const chosen = await vscode.window.showInformationMessage(`Updraft asks: ${wait.text}`, 'Fill in the Form…');
      if (chosen !== undefined) await this.#openPage(run);
      return false;
    }
    const buttons = wait.options.length > 0 && wait.options.length <= MOST_BUTTONS ? [...wait.options, OTHER] : ['Answer…'];
    const chosen = await vscode.window.showInformationMessage(`Updraft asks: ${wait.text}`, ...buttons);
    if (chosen === undefined) return false;
    const text = wait.options.includes(chosen) ? chosen : await this.#write(wait);
    if (text === undefined) return false;
    await (await this.#link.connect()).answer(run, wait.id, text);
    return true;
  }

  async #write(wait: Wait): Promise<string | undefined> {
    if (wait.options.length <= MOST_BUTTONS) return vscode.window.showInputBox({ prompt: wait.text });
    const chosen = await vscode.window.showQuickPick([...wait.options, OTHER], { title: wait.text });
    return chosen === OTHER ? vscode.window.showInputBox({ prompt: wait.text }) : chosen;
  }
}
