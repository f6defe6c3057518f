// The HTTP API of `updraft serve`, as far as the editor uses it.

import { EventParser, type ServerEvent } from './sse.ts';

/** How long a request may take. */
const PATIENCE_MS = 30_000;

export interface Wait {
  id: string;
  kind: 'approval' | 'question';
  text: string;
  options: string[];
  form: unknown;
}

export interface Statistics {
  cost: number | null;
  /** The part of it that is reserved for calls which have not answered. */
  doubtful: number;
  turns: number;
  time_ms: number;
}

export interface Run {
  id: string;
  status: string;
  message: string;
  goal: string;
  answer: string;
  waits: Wait[];
  done: number;
  steps: number;
  statistics: Statistics;
}

export interface RunRow {
  id: string;
  goal: string;
  status: string;
  model: string;
  created: string;
  updated: string;
  events: number;
  done: number | null;
  steps: number | null;
  cost: string | null;
}

export interface Step {
  id: string;
  agent: string;
  description: string;
  prompt: string;
  after: string[];
  reads: string[];
  writes: string[];
  status: string;
  output: unknown;
  error: string | null;
  turns: number;
  calls: number;
  cost: number | null;
  model: string;
}

export interface FileReview {
  path: string;
  change: 'created' | 'changed' | 'removed';
  state: 'as_left' | 'as_before' | 'changed_since';
  before: string | null;
  hidden: string | null;
}

export interface Undone {
  restored: string[];
  left: { path: string; why: string }[];
}

export interface Health {
  status: string;
  version: string;
  workspace?: string;
}

/** What the server says is wrong. */
export class Problem extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class ApiClient {
  readonly address: string;
  readonly #token: string;

  constructor(address: string, token: string) {
    this.address = address;
    this.#token = token;
  }

  health = (patienceMs = PATIENCE_MS): Promise<Health> => this.#ask('GET', '/health', undefined, patienceMs);
  runs = async (): Promise<RunRow[]> => (await this.#ask<{ runs: RunRow[] }>('GET', '/runs?limit=50')).runs;
  running = async (patienceMs: number): Promise<number> =>
    (await this.#ask<{ found: number }>('GET', '/runs?group=running&limit=1', undefined, patienceMs)).found;
  run = (id: string): Promise<Run> => this.#ask('GET', `/runs/${encodeURIComponent(id)}`);
  steps = async (id: string): Promise<Step[]> =>
    (await this.#ask<{ steps: Step[] }>('GET', `/runs/${encodeURIComponent(id)}/export?format=report`)).steps;
  start = (body: { goal: string }): Promise<{ id: string }> => this.#ask('POST', '/runs', body);
  steer = (id: string, how: 'pause' | 'resume' | 'cancel'): Promise<Run> =>
    this.#ask('POST', `/runs/${encodeURIComponent(id)}/${how}`, how === 'resume' ? {} : undefined);
  tell = (id: string, message: string): Promise<Run> => this.#ask('POST', `/runs/${encodeURIComponent(id)}/tell`, { message });
  answer = (id: string, question: string, text: string | undefined): Promise<Run> =>
    this.#ask('POST', `/runs/${encodeURIComponent(id)}/answer`, text === undefined ? { question } : { question, text });
  approve = (id: string, verdict: { approval: string; allow: boolean; because?: string; always?: 'run' }): Promise<Run> =>
    this.#ask('POST', `/runs/${encodeURIComponent(id)}/approve`, verdict);
  changes = async (id: string): Promise<FileReview[]> =>
    (await this.#ask<{ files: FileReview[] }>('GET', `/runs/${encodeURIComponent(id)}/changes`)).files;
  undo = (id: string, order: { path?: string; force?: boolean }): Promise<Undone> =>
    this.#ask('POST', `/runs/${encodeURIComponent(id)}/undo`, order);

  /** Follows the events of a run after a number, until it is over or the signal says so. */
  async follow(id: string, after: number, signal: AbortSignal, onEvent: (event: ServerEvent) => void): Promise<void> {
    const place = `/runs/${encodeURIComponent(id)}/stream?after=${after}`;
    const response = await this.#send('GET', place, undefined, signal);
    if (response.body === null) return;
    const parser = new EventParser();
    const decoder = new TextDecoder();
    for await (const piece of response.body) {
      for (const event of parser.push(decoder.decode(piece, { stream: true }))) onEvent(event);
    }
  }

  async #ask<T>(method: string, place: string, body?: unknown, patienceMs = PATIENCE_MS): Promise<T> {
    const response = await this.#send(method, place, body, AbortSignal.timeout(patienceMs));
    return (await response.json()) as T;
  }

  async #send(method: string, place: string, body: unknown, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#token}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const response = await fetch(`${this.address}/api/v1${place}`, {
      method, headers, signal, ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (response.ok) return response;
    const told = (await response.json().catch(() => ({}))) as { detail?: string; title?: string; hints?: string[] };
    const words = [told.detail ?? told.title ?? response.statusText, ...(told.hints ?? [])];
    throw new Problem(response.status, words.join('; '));
  }
}
