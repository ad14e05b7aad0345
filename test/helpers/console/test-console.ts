import { randomUUID } from 'node:crypto';
import { type IncomingHttpHeaders, request } from 'node:http';
import { createParser } from 'eventsource-parser';
import { onTestFinished } from 'vitest';
import type { Bot, Platform } from '../../../src/bot/platform.ts';
import { encodeAction } from '../../../src/bot/shared/card.ts';
import type { BotSettings } from '../../../src/bot/shared/settings.ts';
import type { AccountServices, BotFacts } from '../../../src/console/account/account.ts';
import { createConsole } from '../../../src/console/console.ts';
import type { LoginOptions } from '../../../src/console/login/login.ts';
import { type StoredSession, sessionsCollection } from '../../../src/console/login/sessions.ts';
import { historyCollection } from '../../../src/console/playground/history.ts';
import type {
  ConsoleEvent,
  ConsoleSnapshot,
  InteractionOutcome,
  Message,
  RootMessage,
} from '../../../src/console/shared/api-types.ts';
import type { StatusOptions } from '../../../src/console/status/status.ts';
import { createServer } from '../../../src/http/server.ts';
import type { Collection, Store } from '../../../src/store/store.ts';
import type { ModelProvider } from '../../fakes/model-provider.ts';
import type { MonitoringService } from '../../fakes/monitoring-service.ts';
import { startTestBot, type TestBot } from '../bot.ts';
import { eventually } from '../eventually.ts';
import { recordingLog } from '../recording-log.ts';
import { openTestStore } from '../test-store.ts';
import { sharedStore } from './shared-store.ts';

/** The built pages. */
export const BUILT_PAGE = new URL('../../../dist/console/page/', import.meta.url);

/** For tests of alerts: the bot polls all the time. */
export const ALERTING: Partial<BotSettings> = { alertPollMs: 100 };

/** The real console on the real server, with the real bot behind it. */
export interface TestConsole extends Pick<TestBot, 'bot' | 'provider' | 'service'> {
  url: string;
  console: Platform;
  messages: Collection<RootMessage>;
  sessions: Collection<StoredSession>;
  /** The server's log. */
  lines: Array<Record<string, unknown>>;
  /** Stops bot, console, server and store in the program's order, also at the end of the test. */
  stop(): Promise<void>;
}

/** Starts it all. The same `folder` has the data of an earlier console. */
export async function startTestConsole(
  options: {
    folder?: string;
    /** A store that the caller closes, in place of a folder. */
    store?: Store;
    /** False without a bot: then there is no playground. */
    hasBot?: boolean;
    /** True while this process holds the bot. */
    isHeld?: () => boolean;
    provider?: ModelProvider;
    service?: MonitoringService;
    watched?: { url: string; key: string };
    /** Replaces the bot that the console gets. */
    wrapBot?: (bot: Bot) => Bot;
    /** By default the bot polls when it starts and then once a minute. */
    settings?: Partial<BotSettings>;
    /** Stored before the console opens. */
    stored?: RootMessage[];
    channels?: readonly string[];
    /** The port of an earlier console, where an open page looks for it. */
    port?: number;
    login?: LoginOptions;
    status?: StatusOptions;
    account?: AccountServices;
    trustedProxies?: readonly string[];
  } = {},
): Promise<TestConsole> {
  const { stored = [], channels = [], port = 0, login, status, ...others } = options;
  const { account, trustedProxies, ...more } = others;
  const { folder, store: given, hasBot = true, isHeld = () => true, ...withBot } = more;
  const { wrapBot = (bot) => bot, ...forBot } = withBot;
  const { log, lines } = recordingLog();
  const store = sharedStore(given ?? (await openTestStore({ folder, log })));
  const messages = store.collection(historyCollection);
  for (const root of stored) await messages.update(root.message.id, () => root);
  const kit = await createServer({
    ...{ log, version: '0.0.0' },
    trustedProxies,
  });
  const sessions = store.collection(sessionsCollection);
  const served = await createConsole({
    ...{ kit, store, channels, botFacts: NO_FACTS, log, pageFolder: BUILT_PAGE },
    status,
    account,
    ...(login && { login: { cost: 2 ** 10, ...login } }),
  });
  const url = await kit.listen({ host: '127.0.0.1', port });
  const own = hasBot ? await startOwn() : WITHOUT;

  async function startOwn() {
    const console = await served.createPlatform({ store, isHeld, log });
    const { bot, provider, service, stop } = await startTestBot({
      ...{ ...forBot, store },
      settings: { alertPollMs: 60_000, ...forBot.settings },
    });
    await console.start(wrapBot(bot));
    await bot.start([console]);
    async function stopOwn() {
      await stop();
      await console.stop();
    }
    return { console, bot, provider, service, stopOwn };
  }

  let stopping: Promise<void> | undefined;
  async function stopAll() {
    await own.stopOwn();
    await kit.close();
    await served.close();
    if (!given) await store.close();
  }
  function stop() {
    stopping ??= stopAll();
    return stopping;
  }
  onTestFinished(stop);
  return { ...own, url, messages, sessions, lines, stop };
}

/** Facts of an unused bot. */
export const NO_FACTS: BotFacts = {
  usageLog: { async *everywhere() {} },
  catalog: { models: async () => [] },
  platformTitle: (name) => name,
  channelName: () => undefined,
  alertedPlaces: async () => [],
};

/** A process that doesn't hold the bot. */
const WITHOUT = { stopOwn: async () => {} } as Pick<
  TestConsole,
  'console' | 'bot' | 'provider' | 'service'
> & { stopOwn(): Promise<void> };

/** Waits for two polls, so that the bot knows the current monitors. */
export async function lookedAt({ requests }: MonitoringService): Promise<void> {
  const looks = () => requests.filter(({ method }) => method === 'GET').length;
  const before = looks();
  await eventually(() => looks() >= before + 2, { what: 'two polls' });
}

/** A browser tab as the server sees it. */
export interface Tab {
  /** The browser's cookies. A tab that is opened with them belongs to the same person. */
  cookie: string;
  /** All events, oldest first. */
  heard: ConsoleEvent[];
  /** The stream has ended or was refused. */
  ended: boolean;
  say(
    text: string,
    options?: { thread?: string; id?: string; channel?: string },
  ): Promise<InteractionOutcome>;
  /** Presses the button with this label under a message of the channel, or of a thread. */
  press(
    message: Message | undefined,
    label: string,
    options?: { id?: string; thread?: string },
  ): Promise<InteractionOutcome>;
  /** Sends anything as the page does. */
  tell(path: string, body: object): Promise<Response>;
  close(): void;
}

/** Opens an event stream as the page does, without a cookie as a new person. */
export async function openTab(url: string, options: { cookie?: string } = {}): Promise<Tab> {
  const { cookie } = options;
  const abort = new AbortController();
  const channel = 'general';
  const tab: Tab = {
    cookie: cookie ?? '',
    heard: [],
    ended: false,
    say: async (text, more = {}) =>
      said(await tab.tell('sayings', { id: randomUUID(), channel, text, ...more })),
    async press(message, label, more = {}) {
      const press = {
        ...{ id: randomUUID(), channel, action: actionOf(message, label) },
        ...{ message: message?.id, private: message?.private },
      };
      return said(await tab.tell('presses', { ...press, ...more }));
    },
    tell: (path, body) =>
      postTo(`${url}/console/${path}`, body, { origin: url, cookie: tab.cookie }),
    close: () => abort.abort(),
  };
  onTestFinished(tab.close);
  const response = await fetch(`${url}/console/events`, {
    signal: abort.signal,
    headers: {
      ...(cookie !== undefined && { cookie }),
    },
  });
  if (!response.ok || !response.body) throw new Error(`Status ${response.status}`);
  const [given] = response.headers.getSetCookie();
  const brought = cookie === undefined ? '' : `${cookie}; `;
  if (given !== undefined) tab.cookie = brought + (given.split(';')[0] ?? '');
  const parser = createParser({
    onEvent(event) {
      tab.heard.push(JSON.parse(event.data) as ConsoleEvent);
    },
  });
  void read(response.body, (text) => parser.feed(text)).finally(() => {
    tab.ended = true;
  });
  return tab;
}

async function said(response: Response): Promise<InteractionOutcome> {
  if (!response.ok) throw new Error(`Status ${response.status}: ${await response.text()}`);
  return (await response.json()) as InteractionOutcome;
}

async function read(body: ReadableStream<Uint8Array>, take: (text: string) => void) {
  const decoder = new TextDecoder();
  try {
    for await (const bytes of body) take(decoder.decode(bytes, { stream: true }));
  } catch {
    // The tab was closed or cut off.
  }
}

/** The action of the button with this label. Throws without one. */
export function actionOf(message: Message | undefined, label: string): string {
  const { body } = message ?? {};
  const holder = body?.kind === 'card' ? body.card : body;
  const actions = holder && 'actions' in holder ? (holder.actions ?? []) : [];
  const action = actions.find((one) => one.label === label);
  if (!action) throw new Error(`There is no button ${label}.`);
  return encodeAction(action);
}

/** Sends a line as the page does, with the headers that a browser adds. */
export function post(
  url: string,
  saying: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return postTo(`${url}/console/sayings`, saying, { origin: url, ...headers });
}

/** Presses a button as the page does, with the headers that a browser adds. */
export function postPress(
  url: string,
  press: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return postTo(`${url}/console/presses`, press, { origin: url, ...headers });
}

function postTo(url: string, body: object, headers: Record<string, string>): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** Tries a password as the login page does. */
export function tryPassword(
  url: string,
  password: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return postTo(`${url}/console/login`, { password }, { origin: url, ...headers });
}

/** Logs in, and resolves to the `Cookie` header that the browser sends from then on. */
export async function logIn(url: string, password: string): Promise<string> {
  const response = await tryPassword(url, password);
  if (!response.ok) throw new Error(`Status ${response.status}: ${await response.text()}`);
  return (response.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
}

/** A whole line for requests by hand. */
export function saying(text: string): Record<string, unknown> {
  return { id: randomUUID(), channel: 'general', text };
}

/** An answer to a request with headers that `fetch` doesn't send. */
export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** The whole answer to such a request. Not for streams, because they don't end. */
export function answerOf(
  url: string,
  headers: Record<string, string>,
  options: { method?: string; body?: string } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: options.method ?? 'GET', headers }, async (response) => {
      const body = Buffer.concat(await response.toArray()).toString();
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    });
    asked.on('error', reject);
    asked.end(options.body);
  });
}

/** The status of such a request. */
export function statusOf(
  url: string,
  headers: Record<string, string>,
  options: { method?: string; body?: string } = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: options.method ?? 'GET', headers }, (response) => {
      response.destroy();
      resolve(response.statusCode ?? 0);
    });
    asked.on('error', reject);
    asked.end(options.body);
  });
}

/** The thread as a page fetches it. */
export async function repliesOf(url: string, root: string, cookie = ''): Promise<Message[]> {
  const response = await fetch(`${url}/console/threads/${root}`, { headers: { cookie } });
  if (!response.ok) throw new Error(`Status ${response.status}`);
  return ((await response.json()) as { replies: Message[] }).replies;
}

export async function snapshotOf(tab: Tab): Promise<ConsoleSnapshot> {
  const first = await eventually(() => tab.heard.find(({ kind }) => kind === 'snapshot'));
  if (first.kind !== 'snapshot') throw new Error('There is no snapshot.');
  return first;
}

/** The channels' messages as a new tab sees them, without a cookie as a new person. */
export async function listedAt(url: string, cookie?: string): Promise<Message[]> {
  const tab = await openTab(url, cookie === undefined ? {} : { cookie });
  const { messages } = await snapshotOf(tab);
  tab.close();
  return messages.map(({ message }) => message);
}
