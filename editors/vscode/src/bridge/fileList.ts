// Lists the files of a folder without `.git` and what git ignores; hidden files are listed.

import ignore, { type Ignore } from 'ignore';

/** The most paths that are listed. */
export const MOST_LISTED = 200_000;

export interface ListedEntry {
  name: string;
  kind: 'file' | 'folder' | 'other';
}

/** Reads folders and files, by path relative to the workspace. */
export interface FolderReader {
  entries(folder: string): Promise<ListedEntry[]>;
  /** The text of a file; `undefined` if it is not there. */
  text(path: string): Promise<string | undefined>;
}

/** Rules of a `.gitignore`, and the folder that they are for. */
interface IgnoreRules {
  folder: string;
  rules: Ignore;
}

const join = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);

/** Whether a path is ignored; the deepest rules that say something decide. */
function isIgnored(layers: readonly IgnoreRules[], path: string): boolean {
  for (const { folder, rules } of layers.toReversed()) {
    const { ignored, unignored } = rules.test(folder === '' ? path : path.slice(folder.length + 1));
    if (ignored || unignored) return ignored;
  }
  return false;
}

/** The rules in a folder, added to those of the folders above it. */
async function withRulesOf(reader: FolderReader, folder: string, layers: readonly IgnoreRules[]): Promise<IgnoreRules[]> {
  const own = folder === '' ? ['.git/info/exclude', '.gitignore'] : [join(folder, '.gitignore')];
  const texts = await Promise.all(own.map((path) => reader.text(path).catch(() => undefined)));
  const found = texts.filter((text) => text !== undefined).map((text) => ({ folder, rules: ignore().add(text) }));
  return [...layers, ...found];
}

/** The paths in a folder, relative to the workspace and sorted within each folder; folders end with a slash. */
export async function listFiles(
  reader: FolderReader,
  folder: string,
  isRecursive: boolean,
): Promise<{ files: string[]; truncated: boolean }> {
  let layers: IgnoreRules[] = [];
  let above = '';
  for (const part of folder === '' ? [] : folder.split('/')) {
    layers = await withRulesOf(reader, above, layers);
    above = join(above, part);
  }
  const files: string[] = [];
  const walk = async (at: string, outer: readonly IgnoreRules[]): Promise<boolean> => {
    const rules = await withRulesOf(reader, at, outer);
    const entries = (await reader.entries(at)).sort((one, other) => (one.name < other.name ? -1 : 1));
    for (const { name, kind } of entries) {
      const path = join(at, name);
      const shown = kind === 'folder' ? `${path}/` : path;
      if (name === '.git' || isIgnored(rules, shown)) continue;
      if (files.length >= MOST_LISTED) return true;
      files.push(shown);
      if (kind === 'folder' && isRecursive && (await walk(path, rules))) return true;
    }
    return false;
  };
  const truncated = await walk(folder, layers);
  return { files, truncated };
}
