// The review of what one run changed: each hunk is kept, or put back to what was there before the run.
//
// What is kept becomes part of the text that the file is compared with, so it is no difference any more; what is put back
// is changed in the file. So nothing but the kept texts has to be remembered.

import * as vscode from 'vscode';

import { openDocument, workspaceFolder } from '../bridge/editorFiles.ts';
import type { FileReview } from '../serve/api.ts';
import type { ServerLink } from '../serve/server.ts';
import { type Hunk, hunks, keep } from './hunks.ts';

/** A file with something to decide. */
export interface OpenFile {
  review: FileReview;
  uri: vscode.Uri;
  /** What it is compared with: the text before the run, and what was kept. */
  base: string;
  /** None if the file is decided about as a whole: it was created or removed, or its text cannot be shown. */
  hunks: Hunk[];
}

/** What was kept of a run: texts to compare with, and files as a whole. */
interface KeptParts {
  bases: Record<string, string>;
  files: string[];
}

/** How many runs are remembered. */
const MOST_REMEMBERED = 20;
const REMEMBERED = 'updraft.review';
/** Changes come in bursts. */
const BURST_MS = 100;

/** The scheme of documents that show the text a file is compared with. */
export const BEFORE_SCHEME = 'updraft-before';

export class ReviewSession implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #memory: vscode.Memento;
  readonly #link: ServerLink;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeFiles = this.#changed.event;
  readonly #beforeChanged = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#beforeChanged.event;
  readonly #parts: vscode.Disposable[];
  #run: string | undefined;
  #reviews: FileReview[] = [];
  #files: OpenFile[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The comparison that was begun last. */
  #newest: Promise<void> = Promise.resolve();

  constructor(memory: vscode.Memento, link: ServerLink) {
    this.#memory = memory;
    this.#link = link;
    const watcher = vscode.workspace.createFileSystemWatcher('**/*');
    const look = (uri: vscode.Uri): void => {
      // Every file that the run changed, not only those with open hunks: an editor may have shown an older text when they were compared.
      if (!this.#reviews.some((review) => uriOf(review)?.toString() === uri.toString())) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#compare(), BURST_MS);
    };
    this.#parts = [
      watcher, watcher.onDidCreate(look), watcher.onDidChange(look), watcher.onDidDelete(look),
      vscode.workspace.onDidChangeTextDocument(({ document }) => look(document.uri)),
    ];
  }

  /** The files with something to decide. */
  get files(): readonly OpenFile[] {
    return this.#files;
  }

  get run(): string | undefined {
    return this.#run;
  }

  /** Begins the review of a run. Gives how many files it has changed. */
  async open(run: string): Promise<number> {
    this.#reviews = await (await this.#link.connect()).changes(run);
    this.#run = run;
    await this.#compare();
    return this.#reviews.length;
  }

  /** The document with the text that a file is compared with. */
  beforeUri(file: OpenFile): vscode.Uri {
    return vscode.Uri.from({ scheme: BEFORE_SCHEME, path: `/${this.#run}/${file.review.path}` });
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const [, run = '', path = ''] = /^\/([^/]+)\/(.*)$/.exec(uri.path) ?? [];
    const review = run === this.#run ? this.#reviews.find((one) => one.path === path) : undefined;
    return this.#kept(run).bases[path] ?? review?.before ?? '';
  }

  /** Keeps a hunk, or all that is left of a file. */
  async keep(file: OpenFile, hunk?: Hunk): Promise<void> {
    const kept = this.#kept(this.#run);
    if (file.hunks.length === 0) kept.files.push(file.review.path);
    else if (hunk !== undefined) kept.bases[file.review.path] = keep(file.base, hunk);
    else kept.bases[file.review.path] = [...file.hunks].reverse().reduce(keep, file.base);
    await this.#remember(kept);
    this.#beforeChanged.fire(this.beforeUri(file));
    await this.#compare();
  }

  /** Puts a hunk back, or all that is left of a file. */
  async putBack(file: OpenFile, hunk?: Hunk): Promise<void> {
    if (file.hunks.length === 0) await this.#putFileBack(file);
    else await putLinesBack(file.uri, hunk === undefined ? file.hunks : [hunk]);
    await this.#compare();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    for (const part of this.#parts) part.dispose();
  }

  /** A whole file goes back by the run's own undo, which knows its mode, keeps what it replaces, and may be undone. */
  async #putFileBack({ review }: OpenFile): Promise<void> {
    const client = await this.#link.connect();
    const force = review.state === 'changed_since';
    const { left } = await client.undo(this.#run ?? '', { path: review.path, force });
    const refused = left[0];
    if (refused !== undefined) throw new Error(`${refused.path} stays as it is: ${refused.why.replaceAll('_', ' ')}`);
    this.#reviews = await client.changes(this.#run ?? '');
  }

  /** Compares all files anew, and waits until the newest comparison has ended: a later one has read newer texts. */
  async #compare(): Promise<void> {
    const mine: Promise<void> = this.#filesToDecide().then((files) => (this.#newest === mine ? this.#show(files) : this.#newest));
    this.#newest = mine;
    await mine;
  }

  /** The files with something to decide, as they are now. */
  async #filesToDecide(): Promise<OpenFile[]> {
    const kept = this.#kept(this.#run);
    const files: OpenFile[] = [];
    for (const review of this.#reviews) {
      const uri = uriOf(review);
      if (uri === undefined) continue;
      const base = kept.bases[review.path] ?? review.before ?? '';
      if (review.change !== 'changed' || review.hidden !== null) {
        const isOpen = review.state !== 'as_before' && !kept.files.includes(review.path);
        if (isOpen) files.push({ review, uri, base, hunks: [] });
        continue;
      }
      const found = hunks(base, await textOf(uri));
      if (found.length > 0) files.push({ review, uri, base, hunks: found });
    }
    return files;
  }

  #show(files: OpenFile[]): void {
    this.#files = files;
    void vscode.commands.executeCommand('setContext', 'updraft.isReviewing', files.length > 0);
    this.#changed.fire();
  }

  #kept(run: string | undefined): KeptParts {
    const all = this.#memory.get<Record<string, KeptParts>>(REMEMBERED, {});
    return structuredClone(all[run ?? ''] ?? { bases: {}, files: [] });
  }

  async #remember(kept: KeptParts): Promise<void> {
    const { [this.#run ?? '']: _, ...others } = this.#memory.get<Record<string, KeptParts>>(REMEMBERED, {});
    const newest = Object.entries(others).slice(-(MOST_REMEMBERED - 1));
    await this.#memory.update(REMEMBERED, { ...Object.fromEntries(newest), [this.#run ?? '']: kept });
  }
}

/** Where a file is, if a folder is open. */
function uriOf(review: FileReview): vscode.Uri | undefined {
  const root = workspaceFolder();
  return root && vscode.Uri.joinPath(root, review.path);
}

/** The text of a file as the person sees it. */
async function textOf(uri: vscode.Uri): Promise<string> {
  const document = openDocument(uri);
  if (document !== undefined) return document.getText();
  const bytes = await vscode.workspace.fs.readFile(uri).then(undefined, () => new Uint8Array());
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** Changes lines in the editor, where it can be undone like any other change. */
async function putLinesBack(uri: vscode.Uri, wanted: readonly Hunk[]): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  const wasDirty = document.isDirty;
  const edit = new vscode.WorkspaceEdit();
  for (const { nowStart, now, before } of wanted) {
    edit.replace(uri, new vscode.Range(nowStart, 0, nowStart + now.length, 0), before.join(''));
  }
  if (!(await vscode.workspace.applyEdit(edit))) throw new Error(`${uri.fsPath} cannot be changed now`);
  // What somebody is writing there is theirs to save.
  if (!wasDirty) await document.save();
}
