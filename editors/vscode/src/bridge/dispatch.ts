// Work for an agent: handed to the editor's agent panel where there is one, or to an agent of Updraft.

import type { ApiClient, Run } from '../serve/api.ts';
import { BridgeFault, Code, optionalText, type Params, text } from './wire.ts';

/** The command of Antigravity that types a prompt into its agent panel. */
export const PANEL = 'antigravity.sendPromptToAgentPanel';

/** How long to wait for an agent panel that is still loading. */
const LOADING_MS = 20_000;
const LOOK_MS = 250;

/** What the editor has: commands, and whether it will have an agent panel once all of it is loaded. */
export interface EditorCommands {
  all(): Thenable<string[]>;
  run(command: string, argument: unknown): Thenable<unknown>;
  isPanelExpected(): boolean;
}

/** The work that was dispatched last: a run, or a prompt in the panel. */
type Dispatched = { run: string } | 'panel' | undefined;

/** Whether the editor has an agent panel; waits for it while the editor loads. */
export async function hasPanel(editor: EditorCommands, patienceMs = LOADING_MS): Promise<boolean> {
  const deadline = Date.now() + patienceMs;
  while (!(await editor.all()).includes(PANEL)) {
    if (!editor.isPanelExpected() || Date.now() >= deadline) return false;
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
  return true;
}

/** Carries out `agent/…`. */
export class AgentDispatch {
  readonly #editor: EditorCommands;
  readonly #api: () => Promise<ApiClient>;
  #last: Dispatched;

  constructor(editor: EditorCommands, api: () => Promise<ApiClient>) {
    this.#editor = editor;
    this.#api = api;
  }

  async dispatch(params: Params): Promise<unknown> {
    const prompt = text('agent/dispatch', params, 'prompt');
    if (await hasPanel(this.#editor)) {
      await this.#editor.run(PANEL, { action: 'sendMessage', text: prompt });
      this.#last = 'panel';
      return { success: true };
    }
    const { id } = await (await this.#api()).start({ goal: prompt });
    this.#last = { run: id };
    return { success: true, run: id };
  }

  async control(method: 'status' | 'pause' | 'resume' | 'cancel', params: Params): Promise<unknown> {
    const run = optionalText(`agent/${method}`, params, 'run') ?? this.#lastRun();
    const api = await this.#api();
    return standing(await (method === 'status' ? api.run(run) : api.steer(run, method)));
  }

  #lastRun(): string {
    if (this.#last === 'panel') {
      throw new BridgeFault(Code.refused, "the last task went to the editor's agent panel, which cannot be asked; look at its files");
    }
    if (this.#last === undefined) throw new BridgeFault(Code.unfit, 'no work was dispatched over this bridge yet; name a `run`');
    return this.#last.run;
  }
}

/** The state of a run in the bridge's form. */
function standing(run: Run): unknown {
  const waits = run.waits.map(({ id, kind, text: asked }) => ({ id, approval: kind === 'approval', text: asked }));
  const status = run.status === 'running' ? 'working' : run.status;
  return { success: true, run: run.id, status, message: run.message, done: run.done, steps: run.steps, answer: run.answer, waits };
}
