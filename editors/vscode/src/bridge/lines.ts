// Some lines of a text, by numbers that begin with 1.

import { BridgeFault, Code, type Params } from './wire.ts';

export interface LineRange {
  content: string;
  start_line: number;
  end_line: number;
  lines_total: number;
}

/** The lines that the parameters ask for; `undefined` if they ask for the whole text. */
export function asked(content: string, params: Params): LineRange | undefined {
  const [start, end] = ['start_line', 'end_line'].map((name) => {
    const value = params[name] ?? undefined;
    if (value !== undefined && (!Number.isInteger(value) || (value as number) < 1)) {
      throw new BridgeFault(Code.unfit, `\`${name}\` is a number from 1`);
    }
    return value as number | undefined;
  });
  if (start === undefined && end === undefined) return undefined;
  const lines = content.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const first = start ?? 1;
  const last = Math.min(end ?? lines.length, lines.length);
  if (first > lines.length || last < first) {
    throw new BridgeFault(Code.unfit, `there are no lines ${first} to ${last}: the file has ${lines.length}`);
  }
  return { content: lines.slice(first - 1, last).join(''), start_line: first, end_line: last, lines_total: lines.length };
}
