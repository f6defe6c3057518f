// The messages of the bridge: JSON-RPC 2.0, one object in each text message.

/** The most bytes of a message: the largest file that can be written, and the rest of the message. */
export const LARGEST = 40 * 1024 * 1024;

/** The codes of errors. */
export const Code = {
  notLetIn: -32001,
  refused: -32000,
  garbage: -32700,
  invalid: -32600,
  unknown: -32601,
  unfit: -32602,
} as const;

export type Id = string | number | null;
export type Params = Record<string, unknown>;

/** Why a request failed, in words that say what to do. */
export class BridgeFault extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** A request has an id; without one it is a notification, and gets no answer. */
export interface Message {
  id: Id;
  method: string;
  params: Params;
}

/** A message that cannot be read, and the id to answer it with. */
export class MalformedMessage extends BridgeFault {
  readonly id: Id;

  constructor(code: number, message: string, id: Id = null) {
    super(code, message);
    this.id = id;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads a message of a client: one object that follows JSON-RPC strictly. */
export function read(text: string): Message {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new MalformedMessage(Code.garbage, `not JSON: ${(error as Error).message}`);
  }
  if (!isObject(given)) {
    throw new MalformedMessage(Code.invalid, 'expected one object with `jsonrpc`, `id` and `method`; batches are not supported');
  }
  const hasId = 'id' in given;
  const isGoodId = typeof given['id'] === 'string' || typeof given['id'] === 'number';
  const id = isGoodId ? (given['id'] as Id) : null;
  if (given['jsonrpc'] !== '2.0') throw new MalformedMessage(Code.invalid, '`jsonrpc` must be "2.0"', id);
  // An answer to nothing that we asked.
  if (!('method' in given) && ('result' in given || 'error' in given)) return { id: null, method: '', params: {} };
  if (hasId && !isGoodId) throw new MalformedMessage(Code.invalid, '`id` is a text or a number');
  const method = given['method'];
  if (typeof method !== 'string' || method === '') {
    throw new MalformedMessage(Code.invalid, '`method` is missing, or not a text', id);
  }
  const params = given['params'] ?? {};
  if (!isObject(params)) {
    throw new MalformedMessage(Code.unfit, '`params` is an object: parameters have names here', id);
  }
  return { id, method, params };
}

export const answer = (id: Id, result: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result });

export function failure(id: Id, fault: BridgeFault): string {
  const { code, message, data } = fault;
  return JSON.stringify({ jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } });
}

export const notification = (method: string, params: Params): string => JSON.stringify({ jsonrpc: '2.0', method, params });

/** A parameter that must be a text. */
export function text(method: string, params: Params, name: string): string {
  const value = params[name];
  if (typeof value !== 'string') throw new BridgeFault(Code.unfit, `\`${method}\` needs the text \`${name}\``);
  return value;
}

/** A parameter that may be left out, and is a text otherwise. */
export const optionalText = (method: string, params: Params, name: string): string | undefined =>
  params[name] === undefined || params[name] === null ? undefined : text(method, params, name);
