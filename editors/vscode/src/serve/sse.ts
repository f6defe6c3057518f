// Server-sent events, read from the pieces of a response.

export interface ServerEvent {
  id: string;
  event: string;
  data: string;
}

/** Collects pieces, and gives the events that they complete. */
export class EventParser {
  #rest = '';

  push(piece: string): ServerEvent[] {
    this.#rest += piece;
    const blocks = this.#rest.split(/\r?\n\r?\n/);
    this.#rest = blocks.pop() ?? '';
    return blocks.map(parsed).filter((event) => event.data !== '');
  }
}

function parsed(block: string): ServerEvent {
  const event: ServerEvent = { id: '', event: 'message', data: '' };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
    if (name === 'data') data.push(value ?? '');
    else if (name === 'id' || name === 'event') event[name] = value ?? '';
  }
  event.data = data.join('\n');
  return event;
}
