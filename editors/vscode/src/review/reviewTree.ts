// The view of a review: files, and the hunks in them that are not decided yet; and the same above the lines themselves.

import * as vscode from 'vscode';

import type { Hunk } from './hunks.ts';
import type { OpenFile, ReviewSession } from './reviewSession.ts';

export type ReviewNode = { kind: 'file'; file: OpenFile } | { kind: 'hunk'; file: OpenFile; hunk: Hunk };

const { Expanded, None } = vscode.TreeItemCollapsibleState;

const range = ({ nowStart, now }: Hunk): vscode.Range => new vscode.Range(nowStart, 0, nowStart + Math.max(now.length - 1, 0), 0);

export class ReviewTree implements vscode.TreeDataProvider<ReviewNode>, vscode.CodeLensProvider {
  readonly #session: ReviewSession;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #lensesChanged = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.#lensesChanged.event;

  constructor(session: ReviewSession) {
    this.#session = session;
    session.onDidChangeFiles(() => {
      this.#changed.fire(undefined);
      this.#lensesChanged.fire();
    });
  }

  getTreeItem(node: ReviewNode): vscode.TreeItem {
    const item = node.kind === 'file' ? fileItem(node.file) : hunkItem(node.file, node.hunk);
    item.contextValue = node.kind;
    item.command = { command: 'updraft.showChange', title: 'Show', arguments: [node] };
    return item;
  }

  getChildren(node?: ReviewNode): ReviewNode[] {
    if (node === undefined) return this.#session.files.map((file) => ({ kind: 'file', file }));
    return node.kind === 'file' ? node.file.hunks.map((hunk) => ({ kind: 'hunk', file: node.file, hunk })) : [];
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const file = this.#session.files.find(({ uri }) => uri.toString() === document.uri.toString());
    return (file?.hunks ?? []).flatMap((hunk) => {
      const node: ReviewNode = { kind: 'hunk', file: file!, hunk };
      const choices = [['$(check) Keep', 'keep'], ['$(discard) Put Back', 'putBack'], ['$(diff) Show', 'showChange']] as const;
      return choices.map(([title, name]) => new vscode.CodeLens(range(hunk), { title, command: `updraft.${name}`, arguments: [node] }));
    });
  }

  /** Shows a file beside what it was. */
  async show(node: ReviewNode): Promise<void> {
    const { file } = node;
    if (file.review.hidden !== null || file.review.change === 'created') {
      await vscode.commands.executeCommand('vscode.open', file.uri);
      return;
    }
    const before = this.#session.beforeUri(file);
    if (file.review.change === 'removed') {
      await vscode.commands.executeCommand('vscode.open', before);
      return;
    }
    const title = `${file.review.path} (before the run ↔ now)`;
    const at = node.kind === 'hunk' ? node.hunk : file.hunks[0];
    const options = { preview: true, ...(at ? { selection: range(at) } : {}) };
    await vscode.commands.executeCommand('vscode.diff', before, file.uri, title, options);
  }
}

function fileItem(file: OpenFile): vscode.TreeItem {
  const item = new vscode.TreeItem(file.uri, file.hunks.length > 0 ? Expanded : None);
  item.id = file.review.path;
  const since = file.review.state === 'changed_since' && file.hunks.length === 0 ? ', and changed since' : '';
  item.description = file.review.hidden === null ? `${file.review.change}${since}` : `${file.review.change}${since}; ${file.review.hidden}`;
  item.label = file.review.path;
  item.iconPath = vscode.ThemeIcon.File;
  return item;
}

function hunkItem(file: OpenFile, hunk: Hunk): vscode.TreeItem {
  const [first, last] = [hunk.nowStart + 1, hunk.nowStart + hunk.now.length];
  const where = hunk.now.length === 0 ? `after line ${hunk.nowStart}` : last > first ? `lines ${first}–${last}` : `line ${first}`;
  const item = new vscode.TreeItem(where, None);
  item.id = `${file.review.path}@${hunk.beforeStart}+${hunk.before.length}@${hunk.nowStart}+${hunk.now.length}`;
  const shown = (lines: string[]): string => (lines[0] ?? '').trim() + (lines.length > 1 ? ' …' : '');
  item.tooltip = [...hunk.before.map((line) => `- ${line}`), ...hunk.now.map((line) => `+ ${line}`)].join('');
  const [words, icon] =
    hunk.before.length === 0 ? [`added: ${shown(hunk.now)}`, 'diff-added']
    : hunk.now.length === 0 ? [`removed: ${shown(hunk.before)}`, 'diff-removed']
    : [`${shown(hunk.before)} → ${shown(hunk.now)}`, 'diff-modified'];
  item.description = words;
  item.iconPath = new vscode.ThemeIcon(icon);
  return item;
}
