// The status bar: what runs do, and what the newest of them has cost.

import * as vscode from 'vscode';

import type { Bridge } from '../bridge/bridge.ts';
import type { RunStore } from './runStore.ts';
import { dollars, isOver, spent } from './words.ts';

export class StatusBar implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem('updraft.status', vscode.StatusBarAlignment.Left, 10);
  readonly #store: RunStore;
  readonly #bridge: Bridge;

  constructor(store: RunStore, bridge: Bridge) {
    this.#store = store;
    this.#bridge = bridge;
    this.#item.name = 'Updraft';
    this.#item.command = 'updraft.runs.focus';
    store.onDidChange(() => this.#draw());
    this.#draw();
    this.#item.show();
  }

  dispose(): void {
    this.#item.dispose();
  }

  #draw(): void {
    const live = this.#store.rows.filter(({ status }) => !isOver(status));
    const waiting = live.filter(({ status }) => status === 'waiting').length;
    const newest = [...this.#store.rows].sort((one, other) => (one.created < other.created ? 1 : -1))[0];
    const detail = newest && this.#store.detail(newest.id)?.run;
    const cost = detail ? dollars(spent(detail.statistics)) : newest?.cost;
    const steps = detail && !isOver(detail.status) ? ` ${detail.done}/${detail.steps}` : '';
    const icon = waiting > 0 ? 'question' : live.some(({ status }) => status === 'running') ? 'loading~spin' : 'arrow-up';
    const words = waiting > 0 ? ` needs you` : steps;
    this.#item.text = `$(${icon}) Updraft${words}${cost ? ` · ${cost}` : ''}`;
    this.#item.backgroundColor = waiting > 0 ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    const bridge = this.#bridge.state;
    this.#item.tooltip = [
      newest ? `${newest.goal}\n${newest.status}` : 'no run yet',
      'port' in bridge ? `bridge: ws://127.0.0.1:${bridge.port}` : `bridge: closed, ${bridge.problem}`,
    ].join('\n\n');
  }
}
