// How runs and steps are put into words and pictures.

import type { RunRow, Statistics, Step } from '../serve/api.ts';

const OVER = new Set(['done', 'unproved', 'not_done', 'failed', 'cancelled']);

export const isOver = (status: string): boolean => OVER.has(status);
export const isPaused = (status: string): boolean => status === 'paused' || status === 'exhausted';

/** The names of the editor's icons, by status. */
const RUN_ICONS: Record<string, string> = {
  done: 'pass', unproved: 'pass', failed: 'error', not_done: 'error', cancelled: 'circle-slash',
  waiting: 'question', paused: 'debug-pause', exhausted: 'debug-pause',
};
const STEP_ICONS: Record<string, string> = {
  completed: 'pass', failed: 'error', skipped: 'debug-step-over', cancelled: 'circle-slash', running: 'loading~spin', waiting: 'question',
};

export const runIcon = (status: string): string => RUN_ICONS[status] ?? 'loading~spin';
export const stepIcon = (status: string): string => STEP_ICONS[status] ?? 'circle-outline';

export const firstLine = (text: string, most = 80): string => {
  const line = text.trim().split('\n')[0] ?? '';
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};

/** What a run has cost, without what is only reserved. */
export const spent = ({ cost, doubtful }: Statistics): number | null => (cost === null ? null : Math.max(cost - doubtful, 0));

export const dollars = (cost: number | null): string =>
  cost === null ? '$?' : `$${cost > 0 && cost < 0.1 ? cost.toFixed(4) : cost.toFixed(2)}`;

const listed = (words: string[]): string => words.filter((word) => word !== '').join(' · ');

export const runWords = ({ status, done, steps, cost }: RunRow): string => listed([status, steps ? `${done}/${steps} steps` : '', cost ?? '']);

export const stepWords = ({ agent, status, turns, cost }: Step): string =>
  listed([agent, status, turns > 0 ? `${turns} ${turns === 1 ? 'turn' : 'turns'}` : '', cost ? dollars(cost) : '']);

/** The steps that a step comes after: those it names, and those that write what it reads. */
export function parents(step: Step, all: readonly Step[]): string[] {
  const writers = step.reads.flatMap((name) => all.filter(({ id, writes }) => id !== step.id && writes.includes(name)).map(({ id }) => id));
  return [...new Set([...step.after, ...writers])].filter((id) => all.some((one) => one.id === id));
}

/** The steps below a step, or those without parents: each is shown once, below the first of its parents. */
export const below = (parent: string | undefined, all: readonly Step[]): Step[] => all.filter((step) => parents(step, all)[0] === parent);

/** A step as a page of Markdown. */
export function stepPage(step: Step): string {
  const { output: given } = step;
  const output = typeof given === 'string' ? given : given === null || given === undefined ? '' : JSON.stringify(given, null, 2);
  const parts = [
    `# ${step.id}\n\n${stepWords(step)} · ${step.model}`,
    step.description && `${step.description}`,
    `## Prompt\n\n${step.prompt}`,
    step.error && `## Error\n\n${step.error}`,
    output && `## Result\n\n${output}`,
  ];
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}
