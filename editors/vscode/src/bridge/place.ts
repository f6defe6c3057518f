// A path that a client names, checked: it stays within the workspace, and writing there starts nothing.

import { BridgeFault, Code } from './wire.ts';

/** Files by which other programs are started: whoever may write files may not write these. */
const STARTS_PROGRAMS = /(^|\/)(\.git|\.vscode|\.idea|\.envrc)(\/|$)/i;

/** The path relative to the workspace, with slashes; `''` is the workspace itself. */
export function placed(path: string, root: string): string {
  const outside = (): never => {
    throw new BridgeFault(Code.refused, `\`${path}\` is not in the workspace; name a path relative to it`);
  };
  if (path.includes('\0')) outside();
  let relative = path.replaceAll('\\', '/');
  const above = root.replaceAll('\\', '/').replace(/\/+$/, '');
  if (relative === above || relative.startsWith(`${above}/`)) relative = relative.slice(above.length + 1);
  if (relative.startsWith('/') || /^[a-z]:/i.test(relative)) outside();
  const parts = relative.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) outside();
  return parts.join('/');
}

/** Refuses to write what would start programs later. */
export function mayBeWritten(relative: string): void {
  if (relative === '') throw new BridgeFault(Code.refused, 'the path of a file is missing');
  if (STARTS_PROGRAMS.test(relative)) {
    const why = `\`${relative}\` can start programs, so it is not written over the bridge; change it in the editor`;
    throw new BridgeFault(Code.refused, why);
  }
}
