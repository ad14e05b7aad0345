import { randomUUID } from 'node:crypto';
import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingMessage,
  request as openRequest,
  type ServerResponse,
} from 'node:http';
import { urlToHttpOptions } from 'node:url';
import type { Logger } from 'pino';
import { ErrorCode } from '../contracts/error.ts';
import { EVENT_STREAM } from '../contracts/server-sent-events.ts';
import { closeUnlessComplete } from './connections.ts';
import { type Exchange, type ObserveAnswer, sendError } from './direct-route.ts';
import { HttpError, unavailable } from './errors.ts';
import {
  FORWARDED_HEADER,
  signForwarded,
  takeForwarded,
  withoutHeaders,
} from './forwarded-header.ts';
import type { RequestCaller } from './trusted-proxies.ts';

/** This process, the one at an address such as `http://10.0.0.5:3000`, or none now. */
export type BotAddress = 'here' | { url: string } | undefined;

export interface Forwarding {
  /** The path is decoded and has no query. */
  concerns(path: string): boolean;
  where(): BotAddress;
  /** Resolves when `where` may have changed. The signal aborts once the caller no longer waits. */
  changed(signal: AbortSignal): Promise<void>;
  /** Signs forwarded requests; the same in all processes on one database. */
  secret: string;
}

interface ForwarderOptions extends Forwarding {
  callerOf(request: IncomingMessage): RequestCaller;
  /** Called for requests that another process has forwarded. */
  onForwarded(request: IncomingMessage): void;
  observe: ObserveAnswer;
  log: Logger;
}

type Serve = (caller?: RequestCaller) => void;

interface Sender {
  caller: RequestCaller;
  times: number;
}

interface Link {
  url: string;
  to: ReturnType<typeof urlToHttpOptions>;
  agent: Agent;
  /** Aborted once requests go elsewhere. */
  left: AbortController;
}

/** Total time for which a request waits until a process takes it. Slack waits 3 s for an answer. */
const WAIT_MS = 2_500;

const CONNECT_MS = 1_000;

const MAX_WAITING = 500;

/** A request is forwarded once, and once more if it reaches a former holder. */
const MAX_TIMES = 2;

/** Forwarded requests under way, each on a connection of its own. */
const MAX_UNDER_WAY = 1_000;

/** The server ends idle connections after 65 s; a request sent at that moment would be lost. */
const IDLE_MS = 30_000;

/** Time that a process has after SIGTERM; requests that a former holder has not answered by then are ended. */
const FORMER_HOLDER_MS = 10_000;

const LOG_EVERY_MS = 60_000;

/** The route of forwarded requests in metrics and log lines. */
const ROUTE = 'forwarded';

/** Headers of one connection. Source: RFC 9110 §7.6.1. `Expect` is one, too: Node's server has answered it. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]);

/** A sender can't drop these by naming them in `Connection`: they frame the body, or a proxy in front names its client in them. */
const NEVER_DROPPED =
  /^(content-length|transfer-encoding|host|forwarded|via|x-real-ip|x-forwarded-.*)$/;

/** Methods whose requests Node's client sends without a body unless their headers announce one. */
const WITHOUT_BODY = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'];

/** Forwards requests for the bot to its holder. It retries only while no byte of a request has been sent, so each is sent once. */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #waiting = new Set<AbortController>();
  readonly #eventStreams = new Set<ServerResponse>();
  #underWay = 0;
  #closing = false;
  #link: Link | undefined;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  /** Forwards a request whose body has not been read, or serves it here. */
  take(request: IncomingMessage, response: ServerResponse, serve: Serve): void {
    const { concerns, where, secret, onForwarded, callerOf } = this.#options;
    const header = takeForwarded(request, secret);
    if (header) {
      onForwarded(request);
      if (!header.caller) this.#warn('the clocks of two Askwatch processes differ', header);
    }
    const serveHere = () => serve(header?.caller);
    if (this.#closing || !concerns(pathOf(request))) {
      serveHere();
    } else if (where() === 'here') {
      this.#leaveHolder();
      serveHere();
    } else {
      const exchange = { request, response, ip: undefined, id: randomUUID() };
      const times = (header?.times ?? 0) + 1;
      const caller = header ? header.caller : callerOf(request);
      const sender = caller && times <= MAX_TIMES ? { caller, times } : undefined;
      void this.#forward(exchange, sender, serveHere);
    }
  }

  close(): void {
    this.#closing = true;
    for (const wait of this.#waiting) wait.abort();
    for (const response of this.#eventStreams) response.destroy();
  }

  disconnect(): void {
    this.#link?.agent.destroy();
    this.#link?.left.abort();
  }

  /** A request without a sender is not forwarded, but waits until this process becomes the holder. */
  async #forward(
    exchange: Exchange,
    sender: Sender | undefined,
    serveHere: () => void,
  ): Promise<void> {
    const { where, changed, observe, log } = this.#options;
    const { response } = exchange;
    const startMs = performance.now();
    const wait = new AbortController();
    const giveUp = () => wait.abort();
    const timer = setTimeout(giveUp, WAIT_MS);
    response.once('close', giveUp);
    const refuse = (error: unknown) => {
      observe(exchange, ROUTE, startMs);
      sendError(exchange, error, log);
    };
    try {
      while (!wait.signal.aborted) {
        const target = where();
        if (target === 'here') return serveHere();
        if (target && sender) {
          if (this.#underWay >= MAX_UNDER_WAY) return refuse(tooMany());
          if (await this.#send(exchange, { ...sender, ...target, startMs }, wait.signal)) return;
          // Changes during the attempt were not waited for.
          if (!isSame(where(), target)) continue;
        }
        if (this.#closing) break;
        this.#waiting.add(wait);
        if (this.#waiting.size > MAX_WAITING) return refuse(tooMany());
        await changeOrAbort(changed, wait.signal);
      }
      refuse(noHolder());
    } catch (error) {
      refuse(error);
    } finally {
      clearTimeout(timer);
      response.off('close', giveUp);
      this.#waiting.delete(wait);
    }
  }

  /** Resolves once the request is on its way, or to false if it can't be sent; the answer is then still to come. */
  #send(
    exchange: Exchange,
    { url, caller, times, startMs }: Sender & { url: string; startMs: number },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { secret, observe, log } = this.#options;
    const { request, response } = exchange;
    const { to, agent } = this.#linkTo(url);
    const headers = sentHeaders(request);
    headers.push(FORWARDED_HEADER, signForwarded(request, caller, { times, secret }));
    const { method, url: path } = request;
    const sent = openRequest({ ...to, method, path, headers, agent });
    this.#underWay += 1;
    return new Promise((resolve) => {
      const giveUp = () => void sent.destroy(new Error('The connection took too long.'));
      const timer = setTimeout(giveUp, CONNECT_MS);
      signal.addEventListener('abort', giveUp);
      let isConnected = false;
      let answerId: string | undefined;
      const stopWaiting = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
      };
      onceConnected(sent, () => {
        stopWaiting();
        isConnected = true;
        observe(exchange, ROUTE, startMs, () => ({
          forwardedTo: url,
          // The holder has logged the request under this id.
          reqId: answerId,
        }));
        response.once('close', () => {
          // Also after a whole answer: its sender may not have read the rest of the request.
          if (!response.writableFinished || !sent.writableFinished) sent.destroy();
          closeUnlessComplete(request);
          this.#eventStreams.delete(response);
          // Node's server would keep the connection open for further requests.
          if (this.#closing) request.socket.end();
        });
        flushHeaders(sent);
        request.pipe(sent);
        resolve(true);
      });
      sent.once('response', (answer) => {
        answerId = answer.headers['x-request-id']?.toString();
        try {
          this.#passOn(answer, exchange);
        } catch (error) {
          // Whatever listens at that address may send a status line that Node reads but doesn't write.
          sent.destroy(error as Error);
        }
      });
      sent.once('close', () => {
        this.#underWay -= 1;
      });
      sent.on('error', (error) => {
        stopWaiting();
        if (!response.destroyed) this.#warn('could not forward a request', { url, err: error });
        // An answer that breaks off ends the response itself.
        if (isConnected && !response.headersSent) sendError(exchange, lost(), log);
        resolve(isConnected);
      });
    });
  }

  #passOn(answer: IncomingMessage, { request, response }: Exchange): void {
    const { statusCode = 0, statusMessage } = answer;
    response.writeHead(statusCode, statusMessage, answerHeaders(answer));
    flushHeaders(response);
    if (request.method === 'GET' && answer.headers['content-type']?.startsWith(EVENT_STREAM)) {
      this.#eventStreams.add(response);
      if (this.#closing) response.destroy();
    }
    // An answer that breaks off must not look like a whole one.
    answer.once('error', () => response.destroy());
    answer.pipe(response);
  }

  #linkTo(url: string): Link {
    if (this.#link?.url === url) return this.#link;
    this.#leaveHolder();
    const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
    const link = { url, to: urlToHttpOptions(new URL(url)), agent, left: new AbortController() };
    this.#link = link;
    void this.#leaveWithHolder(link);
    return link;
  }

  /** Requests that a process which stands still has received end also if no other request comes. */
  async #leaveWithHolder(link: Link): Promise<void> {
    const { where, changed } = this.#options;
    while (!link.left.signal.aborted) {
      await changeOrAbort(changed, link.left.signal);
      const now = where();
      if (this.#link === link && now !== undefined && !isSame(now, link)) this.#leaveHolder();
    }
  }

  /** Closes the connections to a former holder after a while: it may hang. */
  #leaveHolder(): void {
    const link = this.#link;
    if (!link) return;
    setTimeout(() => link.agent.destroy(), FORMER_HOLDER_MS).unref();
    link.left.abort();
    this.#link = undefined;
  }

  #warn(message: string, details: object): void {
    if (performance.now() - this.#loggedAtMs < LOG_EVERY_MS) return;
    this.#loggedAtMs = performance.now();
    this.#options.log.warn(details, message);
  }
}

/** The path as the router reads it; one that it can't decode is refused by it. */
function pathOf({ url = '' }: IncomingMessage): string {
  const [path = ''] = url.split(/[?#]/, 1);
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function isSame(one: BotAddress, other: BotAddress): boolean {
  return typeof one === 'object' && typeof other === 'object'
    ? one.url === other.url
    : one === other;
}

function endToEnd({ headers, rawHeaders }: IncomingMessage): string[] {
  const names = (headers.connection ?? '').toLowerCase().split(',');
  const dropped = names.map((name) => name.trim()).filter((name) => !NEVER_DROPPED.test(name));
  return withoutHeaders(rawHeaders, new Set([...HOP_BY_HOP, ...dropped]));
}

/** `Transfer-Encoding` stays, as it says that there is a body; Node's client applies it again. */
function sentHeaders(request: IncomingMessage): string[] {
  const { method = '', headers } = request;
  const hasLength =
    headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  // Node's client would announce a body.
  const empty = hasLength || WITHOUT_BODY.includes(method) ? [] : ['Content-Length', '0'];
  return [...endToEnd(request), ...empty];
}

/** Node's server chooses a transfer encoding that the client can read. */
const answerHeaders = (answer: IncomingMessage) =>
  withoutHeaders(endToEnd(answer), new Set(['transfer-encoding']));

/** Node's own `flushHeaders` sends them as UTF-8, but they were read as Latin-1, which keeps any bytes. */
const flushHeaders = (message: OutgoingMessage) => void message.write(Buffer.alloc(0));

function onceConnected(request: ClientRequest, act: () => void): void {
  request.once('socket', (socket) => {
    if (socket.connecting) socket.once('connect', act);
    else act();
  });
}

function changeOrAbort(changed: Forwarding['changed'], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
    // A failed look-up is no change: the time runs out.
    changed(signal).then(resolve, () => {});
  });
}

const noHolder = () =>
  unavailable(
    'No Askwatch process has taken over the bot yet. Wait 2 s (Retry-After) and try again.',
    2,
  );

const tooMany = () =>
  unavailable(
    'Too many requests for the bot are under way. Wait 2 s (Retry-After) and try again.',
    2,
  );

const lost = () =>
  new HttpError(
    503,
    ErrorCode.unavailable,
    'The connection to the Askwatch process that runs the bot was lost. It may have received the request: check that before you send it again.',
  );
