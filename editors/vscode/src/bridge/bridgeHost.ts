// The WebSocket of the bridge: lets programs of this machine in that show the token, and answers their requests in order.

import { createHash, timingSafeEqual } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { WebSocket, WebSocketServer } from 'ws';

import { answer, BridgeFault, Code, failure, LARGEST, MalformedMessage, type Message, notification, type Params, read } from './wire.ts';

/** What a client may send before it has shown the token, in bytes. */
const FIRST = 16 * 1024;
/** How long it may take to show it. */
const PATIENCE_MS = 5_000;
/** How many connections may be without a token; a new one replaces the oldest. */
const MOST_WAITING = 128;
/** How many clients may be connected. */
const MOST = 64;
/** A client that has this much to read yet is not told of changes. */
const SLOW = 8 * 1024 * 1024;

/** Carries out requests. */
export type Performer = (method: string, params: Params) => Promise<unknown>;

const digest = (text: string): Buffer => createHash('sha256').update(text.trim()).digest();

export class BridgeHost {
  readonly #server: http.Server;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: LARGEST });
  readonly #token: Buffer;
  readonly #perform: Performer;
  readonly #waiting = new Set<WebSocket>();
  readonly #inside = new Set<WebSocket>();

  private constructor(token: string, perform: Performer) {
    this.#token = digest(token);
    this.#perform = perform;
    this.#server = http.createServer({ headersTimeout: PATIENCE_MS, requestTimeout: PATIENCE_MS }, (_, response) => {
      response.writeHead(426, { 'content-type': 'text/plain' }).end('this is a WebSocket\n');
    });
    this.#server.on('upgrade', (request, socket, head) => this.#enter(request, socket as Socket, head));
  }

  /** Listens on this machine. Fails if the port is in use. */
  static async listen(port: number, token: string, perform: Performer): Promise<BridgeHost> {
    if (token.trim() === '') throw new Error('the bridge needs a token');
    const host = new BridgeHost(token, perform);
    await new Promise<void>((done, failed) => {
      host.#server.once('error', failed);
      host.#server.listen(port, '127.0.0.1', () => done());
    });
    host.#server.on('error', () => {});
    return host;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Tells all clients of a change to a file. */
  announce(path: string, bytes: number | undefined): void {
    const told = notification('fs/changed', bytes === undefined ? { path, deleted: true } : { path, bytes });
    for (const socket of this.#inside) {
      if (socket.bufferedAmount < SLOW) socket.send(told);
    }
  }

  async close(): Promise<void> {
    for (const socket of [...this.#waiting, ...this.#inside]) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  #isToken(shown: unknown): boolean {
    return typeof shown === 'string' && timingSafeEqual(digest(shown), this.#token);
  }

  /** Looks at the request that opens a connection, before anything else is read. */
  #enter(request: http.IncomingMessage, socket: Socket, head: Buffer): void {
    const refuse = (status: string, why: string): void => {
      socket.end(`HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${why.length}\r\nConnection: close\r\n\r\n${why}`);
    };
    socket.on('error', () => {});
    if (request.headers.origin !== undefined) return refuse('403 Forbidden', 'web pages may not use the bridge');
    if (/[?&][^=]*token/i.test(request.url ?? '')) {
      return refuse('400 Bad Request', 'send the token in a header or the first message, not in the address');
    }
    const shown = request.headers.authorization;
    const bearer = /^bearer +(.+)$/i.exec(shown ?? '')?.[1];
    if (shown !== undefined && !this.#isToken(bearer)) return refuse('401 Unauthorized', 'wrong token');
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      client.on('error', () => client.terminate());
      if (shown !== undefined) this.#letIn(client);
      else this.#wait(client, socket);
    });
  }

  /** Waits for the token, which is the first message. */
  #wait(client: WebSocket, socket: Socket): void {
    if (this.#waiting.size >= MOST_WAITING) [...this.#waiting][0]?.terminate();
    this.#waiting.add(client);
    const limit = (): void => {
      if (socket.bytesRead > FIRST) client.terminate();
    };
    const timer = setTimeout(() => client.terminate(), PATIENCE_MS);
    const leave = (): void => {
      clearTimeout(timer);
      socket.off('data', limit);
      this.#waiting.delete(client);
    };
    socket.on('data', limit);
    client.once('close', leave);
    client.once('message', (data, isBinary) => {
      leave();
      const { id, fault } = this.#first(data.toString(), isBinary);
      if (fault === undefined) {
        client.off('close', leave);
        this.#letIn(client);
        client.send(answer(id, { success: true }));
      } else {
        client.send(failure(id, fault));
        client.close(1008, 'send the token first');
      }
    });
  }

  #first(text: string, isBinary: boolean): { id: Message['id']; fault?: BridgeFault } {
    if (isBinary) return { id: null, fault: new BridgeFault(Code.invalid, 'send text, not bytes') };
    try {
      const { id, method, params } = read(text);
      if (method === 'auth' && this.#isToken(params['token'])) return { id };
      return { id, fault: new BridgeFault(Code.notLetIn, 'wrong token; the first message is `auth` with the `token`') };
    } catch (error) {
      const malformed = error as MalformedMessage;
      return { id: malformed.id, fault: malformed };
    }
  }

  #letIn(client: WebSocket): void {
    if (this.#inside.size >= MOST) {
      client.close(1013, `${MOST} clients are connected; close one of them`);
      return;
    }
    this.#inside.add(client);
    client.on('close', () => this.#inside.delete(client));
    let last: Promise<void> = Promise.resolve();
    client.on('message', (data, isBinary) => {
      // Answers come in the order of their requests, and nothing more is read meanwhile.
      client.pause();
      last = last.then(async () => {
        const told = isBinary
          ? failure(null, new BridgeFault(Code.invalid, 'send text, not bytes'))
          : await this.#answer(data.toString());
        if (told !== undefined && client.readyState === WebSocket.OPEN) client.send(told);
        client.resume();
      });
    });
  }

  /** The answer to a message; none to a notification. */
  async #answer(text: string): Promise<string | undefined> {
    let message: Message;
    try {
      message = read(text);
    } catch (error) {
      const malformed = error as MalformedMessage;
      return failure(malformed.id, malformed);
    }
    const { id, method, params } = message;
    if (id === null || method === '') return undefined;
    try {
      // Clients that do not know whether their header was read send the token again.
      if (method === 'auth') {
        if (!this.#isToken(params['token'])) throw new BridgeFault(Code.notLetIn, 'wrong token');
        return answer(id, { success: true });
      }
      const told = answer(id, await this.#perform(method, params));
      if (told.length > LARGEST) throw new BridgeFault(Code.refused, 'the answer has more than 40 MB');
      return told;
    } catch (error) {
      const fault = error instanceof BridgeFault ? error : new BridgeFault(Code.refused, (error as Error).message);
      return failure(id, fault);
    }
  }
}
