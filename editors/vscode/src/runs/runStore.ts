// What the editor knows of the runs of its folder: the list, asked for again and again, and the runs at work, followed live.

import * as vscode from 'vscode';

import type { ApiClient, Run, RunRow, Step } from '../serve/api.ts';
import { Lack, type ServerLink } from '../serve/server.ts';
import { isOver } from './words.ts';

/** How often the list is read while somebody looks or a run is at work, and otherwise. */
const BUSY_MS = 2_000;
const CALM_MS = 10_000;
/** Events come in bursts; what follows from them is read once. */
const BURST_MS = 150;
/** How many runs are followed at once. */
const MOST_FOLLOWED = 12;
/** The pause before a stream that broke is opened again. */
const AGAIN_MS = 1_000;

/** `idle`: no server was needed yet. */
export type StoreState = 'idle' | 'ready' | Lack['kind'];

/** A run with its steps. */
export interface RunDetail {
  run: Run;
  steps: Step[];
}

/** What was read of a run. */
interface ReadDetail extends RunDetail {
  /** Which reading it was. */
  reading: number;
  /** How many events of the run it shows, at the least. */
  events: number;
}

export class RunStore implements vscode.Disposable {
  readonly #link: ServerLink;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  readonly #details = new Map<string, ReadDetail>();
  readonly #followed = new Map<string, AbortController>();
  #rows: RunRow[] = [];
  #state: StoreState = 'idle';
  #problem = '';
  #timer: NodeJS.Timeout | undefined;
  #isWatched = false;
  #isDisposed = false;
  /** What was told last: a view that is drawn again for nothing loses clicks. */
  #told = '';
  /** The runs that are read because the list has told of more events. */
  readonly #catchingUp = new Set<string>();
  /** How many readings of runs have begun. */
  #readings = 0;

  constructor(link: ServerLink) {
    this.#link = link;
  }

  get rows(): readonly RunRow[] {
    return this.#rows;
  }

  get state(): StoreState {
    return this.#state;
  }

  get problem(): string {
    return this.#problem;
  }

  detail(id: string): RunDetail | undefined {
    return this.#details.get(id);
  }

  get details(): readonly RunDetail[] {
    return [...this.#details.values()];
  }

  /** Somebody looks at the list, or not any more. */
  watched(isWatched: boolean): void {
    this.#isWatched = isWatched;
    if (isWatched) void this.refresh({ start: true });
  }

  /** Reads everything anew. With `start`, a server is started if none runs. */
  async refresh({ start = false } = {}): Promise<void> {
    clearTimeout(this.#timer);
    try {
      const client = start ? await this.#link.connect() : await this.#link.find();
      if (client === undefined) {
        this.#say(this.#state === 'ready' ? 'failed' : this.#state, 'the server has ended');
      } else {
        this.#rows = await client.runs();
        const listed = new Set(this.#rows.map(({ id }) => id));
        for (const id of this.#details.keys()) {
          if (!listed.has(id) && !this.#followed.has(id)) this.#details.delete(id);
        }
        for (const row of this.#rows) {
          void this.#catchUp(client, row);
          if (!isOver(row.status)) this.#follow(client, row.id);
        }
        this.#say('ready', '');
      }
    } catch (error) {
      this.#say(error instanceof Lack ? error.kind : 'failed', (error as Error).message);
    }
    if (this.#isDisposed) return;
    clearTimeout(this.#timer);
    const isBusy = this.#isWatched || this.#followed.size > 0;
    this.#timer = setTimeout(() => void this.refresh(), isBusy ? BUSY_MS : CALM_MS);
  }

  /**
   * Reads a run and its steps. It is known to have at least so many events. Of two readings at the same time, the one that began later
   * counts.
   */
  async read(id: string, client?: ApiClient, events = 0): Promise<RunDetail> {
    const reading = (this.#readings += 1);
    const from = client ?? (await this.#link.connect());
    const [run, steps] = await Promise.all([from.run(id), from.steps(id)]);
    const known = this.#details.get(id);
    if (known !== undefined && known.reading > reading) return known;
    const detail = { run, steps, reading, events: Math.max(events, known?.events ?? 0) };
    this.#details.set(id, detail);
    return detail;
  }

  /** A run was started or steered: what follows is shown at once. */
  async touched(id: string): Promise<void> {
    await this.read(id).catch(() => undefined);
    await this.refresh();
  }

  dispose(): void {
    this.#isDisposed = true;
    clearTimeout(this.#timer);
    for (const followed of this.#followed.values()) followed.abort();
    this.#changed.dispose();
  }

  #say(state: StoreState, problem: string): void {
    if (state !== 'ready') this.#rows = state === 'failed' ? this.#rows : [];
    this.#state = state;
    this.#problem = problem;
    this.#tell();
  }

  /**
   * Reads a run if the list says that it has more events than were read. Its stream tells sooner; but if a reading failed then, a run that
   * waits for a person has nothing more to tell, and nobody would be asked. Runs that are not followed are read when somebody opens them.
   */
  async #catchUp(client: ApiClient, { id, events }: RunRow): Promise<void> {
    const known = this.#details.get(id);
    const isBehind = known === undefined ? this.#followed.has(id) : known.events < events;
    if (!isBehind || this.#catchingUp.has(id)) return;
    this.#catchingUp.add(id);
    await this.read(id, client, events).catch(() => undefined); // Tried again with the next list.
    this.#catchingUp.delete(id);
    this.#tell();
  }

  /** Tells that something is new, if it is. */
  #tell(): void {
    const details = [...this.#details].map(([id, { run, steps }]) => [id, run, steps]);
    const now = JSON.stringify([this.#state, this.#problem, this.#rows, details]);
    if (now === this.#told || this.#isDisposed) return;
    this.#told = now;
    void vscode.commands.executeCommand('setContext', 'updraft.state', this.#state);
    this.#changed.fire();
  }

  /** Follows a run that is at work, until it is over. */
  #follow(client: ApiClient, id: string): void {
    if (this.#followed.has(id) || this.#followed.size >= MOST_FOLLOWED) return;
    const stop = new AbortController();
    this.#followed.set(id, stop);
    let seen = 0;
    let isWaiting = false;
    const update = async (): Promise<void> => {
      isWaiting = false;
      const detail = await this.read(id, client, seen).catch(() => undefined);
      const row = this.#rows.find((row) => row.id === id);
      if (row !== undefined && detail !== undefined) row.status = detail.run.status;
      if (!stop.signal.aborted) this.#tell();
    };
    const follow = async (): Promise<void> => {
      await update();
      while (!stop.signal.aborted && !isOver(this.#details.get(id)?.run.status ?? '')) {
        await client.follow(id, seen, stop.signal, (event) => {
          seen = Math.max(seen, Number(event.id) || 0);
          if (isWaiting) return;
          isWaiting = true;
          setTimeout(() => void update(), BURST_MS);
        }).catch(() => undefined);
        await new Promise((done) => setTimeout(done, AGAIN_MS));
        await update();
        // A server that is gone is looked for with the list.
        if ((await this.#link.find()) !== client) break;
      }
    };
    void follow().finally(() => {
      this.#followed.delete(id);
      if (!stop.signal.aborted) void this.refresh();
    });
  }
}
