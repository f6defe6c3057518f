// Two texts compared by lines: the hunks in which they differ, and the text after one of them was taken or put back.

/** Lines that differ. Numbers count from 0. */
export interface Hunk {
  /** Where they are in the text before, and what was there. */
  beforeStart: number;
  before: string[];
  /** Where they are in the text now, and what is there. */
  nowStart: number;
  now: string[];
}

/** Beyond this many changed lines, what differs is one hunk: nobody looks at more one by one. */
const MOST_EDITS = 2_000;

/** The lines of a text, each with its end. */
export const lines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** The hunks in which a text differs from what was before. */
export function hunks(beforeText: string, nowText: string): Hunk[] {
  const [before, now] = [lines(beforeText), lines(nowText)];
  let start = 0;
  while (start < before.length && start < now.length && before[start] === now[start]) start += 1;
  let [beforeEnd, nowEnd] = [before.length, now.length];
  while (beforeEnd > start && nowEnd > start && before[beforeEnd - 1] === now[nowEnd - 1]) {
    beforeEnd -= 1;
    nowEnd -= 1;
  }
  const matches = common(before.slice(start, beforeEnd), now.slice(start, nowEnd)).map(([a, b]) => [a + start, b + start] as const);
  const found: Hunk[] = [];
  let [a, b] = [start, start];
  for (const [nextA, nextB] of [...matches, [beforeEnd, nowEnd] as const]) {
    if (nextA > a || nextB > b) found.push({ beforeStart: a, before: before.slice(a, nextA), nowStart: b, now: now.slice(b, nextB) });
    [a, b] = [nextA + 1, nextB + 1];
  }
  return found;
}

/** The text now, with a hunk put back. */
export function putBack(nowText: string, hunk: Hunk): string {
  const all = lines(nowText);
  all.splice(hunk.nowStart, hunk.now.length, ...hunk.before);
  return all.join('');
}

/** The text before, with a hunk kept. */
export function keep(beforeText: string, hunk: Hunk): string {
  const all = lines(beforeText);
  all.splice(hunk.beforeStart, hunk.before.length, ...hunk.now);
  return all.join('');
}

/** Pairs of equal lines, in order, with as few others as possible (Myers' greedy algorithm); none if too many differ. */
function common(a: readonly string[], b: readonly string[]): [number, number][] {
  const most = Math.min(a.length + b.length, MOST_EDITS);
  // How far each diagonal (x - y) was followed; `middle` is that of diagonal 0.
  const middle = most + 1;
  const reach = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits += 1) {
    trace.push(reach.slice(middle - edits - 1, middle + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      let x = isDown(reach, middle, k, edits) ? reach[middle + k + 1]! : reach[middle + k - 1]! + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach[middle + k] = x;
      if (x >= a.length && x - k >= b.length) return walkBack(trace, a.length, b.length);
    }
  }
  return [];
}

/** Whether a diagonal is reached best by an added line, not by a removed one. */
const isDown = (reach: Int32Array, middle: number, k: number, edits: number): boolean =>
  k === -edits || (k !== edits && reach[middle + k - 1]! < reach[middle + k + 1]!);

/** The pairs on the way that was found, from its end to its beginning. */
function walkBack(trace: readonly Int32Array[], aLength: number, bLength: number): [number, number][] {
  const pairs: [number, number][] = [];
  let [x, y] = [aLength, bLength];
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const [reach, middle, k] = [trace[edits]!, edits + 1, x - y];
    const from = isDown(reach, middle, k, edits) ? k + 1 : k - 1;
    const fromX = reach[middle + from]!;
    const fromY = fromX - from;
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      pairs.push([x, y]);
    }
    [x, y] = [fromX, fromY];
  }
  return pairs.reverse();
}
