import { onTestFinished } from 'vitest';
import { platforms } from '../../src/app/platforms.ts';
import { createBot } from '../../src/bot/bot.ts';
import { type Channels, createChannels } from '../../src/bot/channels/channels.ts';
import type { Intakes } from '../../src/bot/intake/intakes.ts';
import type { OpenBot } from '../../src/bot/platform.ts';
import {
  type Card,
  type CardAction,
  decodeAction,
  encodeAction,
  factText,
  findingsText,
} from '../../src/bot/shared/card.ts';
import {
  type AnswerPart,
  type AnswerStep,
  type Invocation,
  type Reply,
  withStep,
} from '../../src/bot/shared/invocation.ts';
import type { Place } from '../../src/bot/shared/place.ts';
import type { BotSettings } from '../../src/bot/shared/settings.ts';
import type { OtherServer } from '../../src/bot/tool-servers/known-server.ts';
import { createUsageLog, type UsageLog } from '../../src/bot/usage/usage-log.ts';
import { createGatewayClient } from '../../src/clients/gateway.ts';
import { createMonitoringClient } from '../../src/clients/monitoring.ts';
import type { Lease, Store } from '../../src/store/store.ts';
import {
  type ModelProvider,
  type ModelProviderOptions,
  startModelProvider,
} from '../fakes/model-provider.ts';
import { type MonitoringService, startMonitoringService } from '../fakes/monitoring-service.ts';
import { recordingLog } from './recording-log.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { openTestStore } from './test-store.ts';

/** A real bot with a real store and real clients, over fakes of the two services. */
export interface TestBot {
  bot: OpenBot;
  store: Store;
  /** Settings of channels, and which alerts they get. */
  channelSettings: Channels;
  usageLog: UsageLog;
  provider: ModelProvider;
  service: MonitoringService;
  /** Log lines, oldest first. */
  lines: Array<Record<string, unknown>>;
  /** Says a line in a channel; each call is an invocation of its own unless `id` is given. */
  say(line: string, where?: Partial<Omit<Invocation, 'request'>>): Promise<Reply>;
  send(
    request: Invocation['request'],
    where?: Partial<Omit<Invocation, 'request'>>,
  ): Promise<Reply>;
  /** Presses a button by the text that it carries, like a platform. */
  press(
    of: Reply | Card | readonly CardAction[] | undefined,
    label: string,
    where?: Partial<Omit<Invocation, 'request'>>,
  ): Promise<Reply>;
  /** Ends bot, clients and store, as the end of the program does; happens by itself when the test is over. */
  stop(): Promise<void>;
}

export interface TestBotOptions {
  /** A store that is the caller's to close. */
  store?: Store;
  /** Folder of the store that is opened by default. */
  folder?: string;
  provider?: ModelProvider;
  models?: NonNullable<ModelProviderOptions['models']>;
  service?: MonitoringService;
  /** Another service that the bot watches in its place. */
  watched?: { url: string; key: string };
  settings?: Partial<BotSettings>;
  /** The thread that reads PDFs, for a test that has some. */
  pdfProgram?: URL;
  /** Intakes, if other parts of the test use them. */
  intakes?: Intakes;
  /** Other people's servers whose tools may be used. */
  toolServers?: readonly OtherServer[];
}

/** The channel of `say` when none is named. */
export const CHANNEL: Place = { platform: 'console', channel: 'general' };

const ADA = { id: 'U1', name: 'Ada' };

let invocations = 0;

function actionsOf(of: Reply | Card | readonly CardAction[] | undefined): readonly CardAction[] {
  if (of === undefined) return [];
  if (!('kind' in of)) return 'parts' in of ? (of.actions ?? []) : of;
  return (of.kind === 'card' ? of.card.actions : of.kind === 'answer' && of.actions) || [];
}

async function takeLease(store: Store): Promise<Lease> {
  const lease = await store.lease('bot');
  if (!lease) throw new Error('A bot that was not stopped holds the lease of this store.');
  return lease;
}

/** Starts a bot as the program does, short of its platforms: hand some to `bot.start` to have it watch. */
export async function startTestBot(options: TestBotOptions = {}): Promise<TestBot> {
  const { log, lines } = recordingLog();
  const provider =
    options.provider ??
    (await startModelProvider(options.models === undefined ? {} : { models: options.models }));
  // The bot polls faster here than the contract's 120 requests a minute allow.
  const service = options.service ?? (await startMonitoringService({ limit: false }));
  const store =
    options.store ??
    (await openTestStore({ folder: options.folder ?? (await temporaryFolder()), log }));
  const settings: BotSettings = {
    askModel: undefined,
    askSystemPrompt: undefined,
    askStallMs: 45_000,
    feedbackDays: 90,
    alertPlaces: [],
    alertPollMs: 50,
    mayAdd: 'everyone',
    mayManage: 'managers',
    ...options.settings,
  };
  const gateway = createGatewayClient({
    baseUrl: provider.url,
    apiKey: provider.apiKey,
  });
  const { url: baseUrl, key: apiKey } = options.watched ?? { ...service, key: service.apiKey };
  const monitoring = createMonitoringClient({ baseUrl, apiKey });
  const { pdfProgram, toolServers, intakes } = options;
  const shared = new Map<string, unknown>([
    ['tool-servers', toolServers && (() => toolServers)],
    ['intake', intakes],
  ]);
  const usageLog = createUsageLog(store);
  const channelSettings = createChannels(store);
  const lease = await takeLease(store);
  const bot = await createBot({
    ...{ store, lease, gateway, monitoring, settings, platforms, pdfProgram, shared, log },
    ...{ channels: channelSettings, usageLog },
  });

  let stopping: Promise<void> | undefined;
  async function stopAll() {
    await bot.stop();
    await lease.release();
    await Promise.all([gateway.close(), monitoring.close()]);
    if (!options.store) await store.close();
    if (!options.provider) await provider.close();
    if (!options.service) await service.close();
  }
  function stop() {
    stopping ??= stopAll();
    return stopping;
  }
  onTestFinished(stop);

  const send: TestBot['send'] = (request, where = {}) => {
    invocations += 1;
    const id = `test:${process.pid}:${invocations}`;
    return bot.dispatch({ id, request, place: CHANNEL, person: ADA, ...where });
  };
  return {
    bot,
    ...{ store, channelSettings, usageLog },
    provider,
    service,
    lines,
    send,
    say: (line, where) => send({ line }, where),
    press(of, label, where) {
      const action = actionsOf(of).find((one) => one.label === label);
      const request = action && decodeAction(encodeAction(action));
      if (!request) throw new Error(`There is no button ${label}.`);
      return send(request, where);
    },
    stop,
  };
}

/** The card of a reply; anything else fails the test. */
export function cardOf(reply: Reply): Card {
  if (reply.kind !== 'card') throw new Error(`Wanted a card, got ${reply.kind}.`);
  return reply.card;
}

/** Everything a card says, as one text: title, parts, footer. */
export function textOf(card: Card): string {
  const at = (atMs: number) => `at ${atMs}`;
  const parts = card.parts.map((part) => {
    if (part.kind === 'facts') {
      return part.facts.map((fact) => `${fact.label}: ${factText(fact, at)}`).join('\n');
    }
    if (part.kind === 'table') {
      return [part.columns, ...part.rows].map((row) => row.join(' | ')).join('\n');
    }
    if (part.kind === 'findings') return findingsText(part, at);
    return part.kind === 'chart' ? `${part.title}: ${part.text}` : part.text;
  });
  return [card.title, ...parts, card.footer ?? ''].join('\n');
}

/** Reads an answer to its end, as a platform does that shows it. A reply that is none fails the test. */
export async function readAnswer(
  reply: Reply,
  thread?: string,
  signal?: AbortSignal,
): Promise<{
  text: string;
  /** Steps in their final state. */
  steps: AnswerStep[];
  end: Extract<AnswerPart, { kind: 'end' }>;
}> {
  if (reply.kind !== 'answer') throw new Error(`Wanted an answer, got ${reply.kind}.`);
  let text = '';
  let steps: AnswerStep[] = [];
  let end: Extract<AnswerPart, { kind: 'end' }> | undefined;
  await reply.begin(thread === undefined ? {} : { thread });
  for await (const part of reply.stream(thread, signal)) {
    if (end) throw new Error('A part came after the end.');
    if (part.kind === 'end') end = part;
    else if (part.kind === 'step') steps = withStep(steps, part.step);
    else text += part.text;
  }
  if (!end) throw new Error('The answer had no end.');
  await reply.ended();
  return { text, steps, end };
}
