// Paths, lists and lines of the bridge.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { type FolderReader, listFiles } from '../src/bridge/fileList.ts';
import { asked } from '../src/bridge/lines.ts';
import { mayBeWritten, placed } from '../src/bridge/place.ts';
import { BridgeFault } from '../src/bridge/wire.ts';

/** A folder in memory: paths with their text. */
const folder = (files: Record<string, string>): FolderReader => ({
  entries: async (at) => {
    const inside = Object.keys(files).filter((path) => at === '' || path.startsWith(`${at}/`));
    if (inside.length === 0) throw new Error('no such folder');
    const rest = inside.map((path) => path.slice(at === '' ? 0 : at.length + 1));
    const names = new Set(rest.map((path) => path.split('/')[0] ?? ''));
    return [...names].map((name) => ({ name, kind: rest.some((path) => path.startsWith(`${name}/`)) ? 'folder' : 'file' }));
  },
  text: async (path) => files[path],
});

const project = folder({
  '.gitignore': 'target/\n*.log\n!keep.log\n', '.git/info/exclude': 'private\n', '.git/config': '', '.hidden': '',
  'a.log': '', 'keep.log': '', private: '', 'src/.gitignore': '*.tmp\n!x.log\n', 'src/main.rs': '', 'src/x.tmp': '', 'src/x.log': '',
  'src/deep/y.log': '', 'src/deep/z.rs': '', 'target/debug/x': '', 'x.tmp': '',
});

test('a list is what git would list, with folders and hidden files', async () => {
  assert.deepEqual(await listFiles(project, '', true), {
    files: ['.gitignore', '.hidden', 'keep.log', 'src/', 'src/.gitignore', 'src/deep/', 'src/deep/z.rs', 'src/main.rs', 'src/x.log', 'x.tmp'],
    truncated: false,
  });
  assert.deepEqual((await listFiles(project, '', false)).files, ['.gitignore', '.hidden', 'keep.log', 'src/', 'x.tmp']);
  assert.deepEqual((await listFiles(project, 'src/deep', true)).files, ['src/deep/z.rs']);
  await assert.rejects(listFiles(project, 'nowhere', true));
});

test('paths stay in the workspace', () => {
  assert.equal(placed('./a//b.txt', '/home/me/w'), 'a/b.txt');
  assert.equal(placed('.', '/home/me/w'), '');
  assert.equal(placed('/home/me/w/a.txt', '/home/me/w'), 'a.txt');
  for (const path of ['../a', 'a/../../b', '/etc/passwd', '/home/me/w2/a', 'C:\\a', '..\\a', 'a\0b']) {
    assert.throws(() => placed(path, '/home/me/w'), /not in the workspace/, path);
  }
});

test('what starts programs is not written', () => {
  for (const path of ['.git/hooks/pre-commit', 'sub/.git/config', '.vscode/tasks.json', '.envrc', '.GIT/config', '']) {
    assert.throws(() => mayBeWritten(path), BridgeFault, path);
  }
  for (const path of ['.gitignore', 'src/git.rs', 'a.vscode.md']) mayBeWritten(path);
});

test('lines are chosen by numbers', () => {
  const text = 'one\ntwo\nthree';
  assert.equal(asked(text, {}), undefined);
  assert.deepEqual(asked(text, { start_line: 2 }), { content: 'two\nthree', start_line: 2, end_line: 3, lines_total: 3 });
  assert.deepEqual(asked(text, { start_line: 2, end_line: 2 }), { content: 'two\n', start_line: 2, end_line: 2, lines_total: 3 });
  assert.deepEqual(asked(text, { end_line: 99 })?.end_line, 3);
  for (const params of [{ start_line: 4 }, { start_line: 0 }, { start_line: 'x' }, { start_line: 3, end_line: 2 }]) {
    assert.throws(() => asked(text, params));
  }
  assert.throws(() => asked('', { start_line: 1 }), /the file has 0/);
});
