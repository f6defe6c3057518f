// The goal of a run on a part of a file.

/** What is wanted, and the lines it is about, in words that an agent understands. Lines count from 1. */
export function goalFor(wish: string, { path, first, last, text }: { path: string; first: number; last: number; text: string }): string {
  // The fence must be longer than any in the text.
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  const where = first === last ? `line ${first}` : `lines ${first} to ${last}`;
  return `${wish.trim()}\n\nIt is about ${where} of \`${path}\`:\n\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
}
