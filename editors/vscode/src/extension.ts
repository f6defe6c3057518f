// The extension: the bridge for other programs, and the runs of this folder for the person at the editor.

import * as vscode from 'vscode';

import { Bridge, makeToken } from './bridge/bridge.ts';
import { howToInstall, setPath } from './install.ts';
import { BEFORE_SCHEME, ReviewSession } from './review/reviewSession.ts';
import { type ReviewNode, ReviewTree } from './review/reviewTree.ts';
import { RunCommands, told } from './runs/commands.ts';
import { Questions } from './runs/questions.ts';
import { RunStore } from './runs/runStore.ts';
import { type RunNode, RunTree, STEP_SCHEME } from './runs/runTree.ts';
import { StatusBar } from './runs/statusBar.ts';
import { ServerLink } from './serve/server.ts';

let link: ServerLink | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Updraft', { log: true });
  const server = new ServerLink(context, log);
  link = server;
  const bridge = new Bridge(log, () => server.connect());
  const store = new RunStore(server);
  const commands = new RunCommands(store, server);
  const questions = new Questions(store, server, (run) => commands.openPage(run));
  const tree = new RunTree(store);
  const session = new ReviewSession(context.workspaceState, server);
  const reviewTree = new ReviewTree(session);
  const runsView = vscode.window.createTreeView('updraft.runs', { treeDataProvider: tree });
  const reviewView = vscode.window.createTreeView('updraft.review', { treeDataProvider: reviewTree });
  context.subscriptions.push(
    log, bridge, store, session, runsView, reviewView, new StatusBar(store, bridge),
    runsView.onDidChangeVisibility(({ visible }) => store.watched(visible)),
    store.onDidChange(() => { runsView.message = store.state === 'failed' ? store.problem : ''; }),
    vscode.workspace.registerTextDocumentContentProvider(STEP_SCHEME, tree),
    vscode.workspace.registerTextDocumentContentProvider(BEFORE_SCHEME, session),
    vscode.languages.registerCodeLensProvider({ scheme: 'file' }, reviewTree),
    ...runCommands(commands, store, questions, log, server),
    ...reviewCommands(session, reviewTree),
  );
  void bridge.open();
  // A server that runs is found; one that is needed is started when somebody looks, or hands over work.
  if (runsView.visible) store.watched(true);
  else void store.refresh();
}

/** A run that is at work goes on without the editor; a server without one ends with it. */
export async function deactivate(): Promise<void> {
  await link?.stop(true).catch(() => undefined);
}

const command = <Arguments extends unknown[]>(name: string, run: (...words: Arguments) => Promise<unknown>): vscode.Disposable =>
  vscode.commands.registerCommand(`updraft.${name}`, told(run));

function runCommands(
  commands: RunCommands,
  store: RunStore,
  questions: Questions,
  log: vscode.LogOutputChannel,
  server: ServerLink,
): vscode.Disposable[] {
  return [
    command('newRun', () => commands.newRun()),
    command('runOnSelection', () => commands.runOnSelection()),
    command('refresh', () => store.refresh({ start: true })),
    command('respond', async (node: RunNode) => {
      if (node.kind === 'wait') await questions.respond(node.run, node.wait);
    }),
    command('tell', (node: RunNode) => commands.tell(node)),
    command('pause', (node: RunNode) => commands.steer(node, 'pause')),
    command('resume', (node: RunNode) => commands.steer(node, 'resume')),
    command('cancel', (node: RunNode) => commands.steer(node, 'cancel')),
    command('undo', (node: RunNode) => commands.undo(node)),
    command('openPage', (node?: RunNode) => commands.openPage(node?.kind === 'run' ? node.row.id : undefined)),
    command('showStep', (uri: vscode.Uri) => Promise.resolve(vscode.commands.executeCommand('vscode.open', uri, { preview: true }))),
    command('makeToken', makeToken),
    command('howToInstall', howToInstall),
    command('setPath', setPath),
    command('showLog', async () => log.show()),
    command('stopServer', async () => {
      const outcome = await server.stop(false);
      const words = outcome === 'stopped' ? 'the server has ended' : 'no server was started from here';
      void vscode.window.showInformationMessage(`Updraft: ${words}`);
    }),
  ];
}

function reviewCommands(session: ReviewSession, tree: ReviewTree): vscode.Disposable[] {
  const hunkOf = (node: ReviewNode) => (node.kind === 'hunk' ? node.hunk : undefined);
  return [
    command('review', async (node: RunNode) => {
      if (node.kind !== 'run') return;
      const changed = await session.open(node.row.id);
      const first = session.files.find(({ hunks }) => hunks.length > 0) ?? session.files[0];
      if (first === undefined) {
        const words = changed === 0 ? 'This run has changed no files.' : 'Everything that this run changed has been reviewed.';
        void vscode.window.showInformationMessage(words);
        return;
      }
      await vscode.commands.executeCommand('updraft.review.focus');
      await tree.show({ kind: 'file', file: first });
    }),
    command('showChange', (node: ReviewNode) => tree.show(node)),
    command('keep', (node: ReviewNode) => session.keep(node.file, hunkOf(node))),
    command('putBack', (node: ReviewNode) => session.putBack(node.file, hunkOf(node))),
    command('keepAll', async () => {
      for (const file of session.files) await session.keep(file);
    }),
    command('putBackAll', async () => {
      const question = 'Put back all changes of this run that are not decided yet?';
      if ((await vscode.window.showWarningMessage(question, { modal: true }, 'Put Back All')) === undefined) return;
      for (const file of session.files) await session.putBack(file);
    }),
  ];
}
