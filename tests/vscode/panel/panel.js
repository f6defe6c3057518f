// Plays Antigravity's agent panel for tests: once `panel-now` is in the workspace, the command is there, and what it is given is
// written to `panel.jsonl`.

const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');

exports.activate = (context) => {
  const root = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const timer = setInterval(() => {
    if (!fs.existsSync(path.join(root, 'panel-now'))) return;
    clearInterval(timer);
    const take = (given) => fs.appendFileSync(path.join(root, 'panel.jsonl'), `${JSON.stringify(given)}\n`);
    context.subscriptions.push(vscode.commands.registerCommand('antigravity.sendPromptToAgentPanel', take));
    fs.writeFileSync(path.join(root, 'panel-ready'), '');
  }, 50);
};
