// The view of runs: each with what it waits for and the tree of its steps.

import * as vscode from 'vscode';

import type { RunRow, Step, Wait } from '../serve/api.ts';
import type { RunStore } from './runStore.ts';
import { below, firstLine, isOver, isPaused, parents, runIcon, runWords, stepIcon, stepPage, stepWords } from './words.ts';

export type RunNode =
  | { kind: 'run'; row: RunRow }
  | { kind: 'wait'; run: string; wait: Wait }
  | { kind: 'step'; run: string; step: Step };

/** The scheme of documents that show a step. */
export const STEP_SCHEME = 'updraft-step';

const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;

export class RunTree implements vscode.TreeDataProvider<RunNode>, vscode.TextDocumentContentProvider {
  readonly #store: RunStore;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;

  constructor(store: RunStore) {
    this.#store = store;
    store.onDidChange(() => this.#changed.fire(undefined));
  }

  getTreeItem(node: RunNode): vscode.TreeItem {
    switch (node.kind) {
      case 'run': return this.#run(node.row);
      case 'wait': return this.#wait(node);
      case 'step': return this.#step(node.run, node.step);
    }
  }

  async getChildren(node?: RunNode): Promise<RunNode[]> {
    if (node === undefined) return this.#store.rows.map((row) => ({ kind: 'run', row }));
    if (node.kind === 'wait') return [];
    const run = node.kind === 'run' ? node.row.id : node.run;
    const detail = this.#store.detail(run) ?? (await this.#store.read(run).catch(() => undefined));
    if (detail === undefined) return [];
    const steps = below(node.kind === 'step' ? node.step.id : undefined, detail.steps);
    const children: RunNode[] = steps.map((step) => ({ kind: 'step', run, step }));
    const waits: RunNode[] = node.kind === 'run' ? detail.run.waits.map((wait) => ({ kind: 'wait', run, wait })) : [];
    return [...waits, ...children];
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const [run, step] = uri.path.slice(1).replace(/\.md$/, '').split('/');
    const found = this.#store.detail(run ?? '')?.steps.find(({ id }) => id === step);
    return found === undefined ? 'This step is not known any more.\n' : stepPage(found);
  }

  #run(row: RunRow): vscode.TreeItem {
    const item = new vscode.TreeItem(firstLine(row.goal), isOver(row.status) ? Collapsed : Expanded);
    item.id = row.id;
    item.description = runWords(row);
    item.iconPath = new vscode.ThemeIcon(runIcon(row.status));
    item.tooltip = `${row.goal}\n\n${row.id} · ${row.model} · ${row.created}`;
    item.contextValue = `run ${isOver(row.status) ? 'isOver' : isPaused(row.status) ? 'isPaused' : 'isLive'}`;
    return item;
  }

  #wait({ run, wait }: { run: string; wait: Wait }): vscode.TreeItem {
    const item = new vscode.TreeItem(firstLine(wait.text), None);
    item.id = `${run}/${wait.id}`;
    item.description = wait.kind === 'approval' ? 'needs your approval' : 'asks you';
    const icon = wait.kind === 'approval' ? 'shield' : 'comment-discussion';
    item.iconPath = new vscode.ThemeIcon(icon, new vscode.ThemeColor('charts.yellow'));
    item.tooltip = wait.text;
    item.contextValue = 'wait';
    item.command = { command: 'updraft.respond', title: 'Answer', arguments: [{ kind: 'wait', run, wait }] };
    return item;
  }

  #step(run: string, step: Step): vscode.TreeItem {
    const all = this.#store.detail(run)?.steps ?? [];
    const others = parents(step, all).slice(1);
    const name = step.description ? firstLine(step.description, 60) : step.id;
    const item = new vscode.TreeItem(name, below(step.id, all).length > 0 ? Expanded : None);
    item.id = `${run}/${step.id}`;
    item.description = others.length > 0 ? `${stepWords(step)} · + ${others.join(', ')}` : stepWords(step);
    item.iconPath = new vscode.ThemeIcon(stepIcon(step.status));
    item.tooltip = step.error ?? `${step.id}: ${step.prompt}`;
    item.contextValue = 'step';
    const uri = vscode.Uri.from({ scheme: STEP_SCHEME, path: `/${run}/${step.id}.md` });
    item.command = { command: 'updraft.showStep', title: 'Show', arguments: [uri] };
    return item;
  }
}
