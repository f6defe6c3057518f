// What to do where the program `updraft` is not installed.

import * as vscode from 'vscode';

const PAGE = `# Install updraft

The extension needs the program \`updraft\` on this machine (for a remote folder: on that machine). Choose one:

| you have | do |
|---|---|
| Python | \`pipx install updraft\` |
| Node | \`npm install --global updraft\` |
| Debian or Ubuntu | \`sudo apt install ./updraft_VERSION_amd64.deb\` |
| a release archive | \`./install.sh --archive FILE\` |
| a checkout, and Rust 1.95 | \`./install.sh\` |

\`updraft --version\` in a terminal says that it is there, \`updraft doctor\` what works on your machine. Then choose
*Refresh* in the view *Runs*.

If it is installed in a folder that is not in the editor's \`PATH\`, set \`updraft.path\` in the editor's settings to the program
itself.
`;

/** Shows how to install it. */
export async function howToInstall(): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: 'markdown', content: PAGE });
  await vscode.window.showTextDocument(document, { preview: true });
}

/** Says that it is missing, with a way out. */
export async function tellMissing(): Promise<void> {
  const chosen = await vscode.window.showWarningMessage('The program `updraft` was not found.', 'How to Install It', 'Set Its Path');
  if (chosen === 'How to Install It') await howToInstall();
  if (chosen === 'Set Its Path') await setPath();
}

export const setPath = async (): Promise<void> => {
  await vscode.commands.executeCommand('workbench.action.openSettings', 'updraft.path');
};
