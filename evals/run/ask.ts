import { createBot } from '../../src/bot/bot.ts';
import type { Bot } from '../../src/bot/platform.ts';
import { findInThread, indexNames, planAnswer } from '../../src/bot/rules/rules.ts';
import type { Card } from '../../src/bot/shared/card.ts';
import type { AnswerPart, Invocation, Reply } from '../../src/bot/shared/invocation.ts';
import type { BotSettings } from '../../src/bot/shared/settings.ts';
import { createGatewayClient } from '../../src/clients/gateway.ts';
import { createMonitoringClient } from '../../src/clients/monitoring.ts';
import type { ChatRequest } from '../../src/contracts/gateway.ts';
import type { Monitor } from '../../src/contracts/monitoring.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { recordingLog } from '../../test/helpers/recording-log.ts';
import type { EvalCase } from '../cases/case.ts';
import { NOW_MS } from '../week/planned-monitor.ts';
import type { Models } from '../world/models.ts';
import { standAt } from '../world/standing-clock.ts';
import type { Week } from '../world/week.ts';
import type { Call, Evidence } from './evidence.ts';
import { recordGateway } from './recorded-gateway.ts';

/** A try that gave no answer that could be graded, such as when a gateway refused. */
export class NotAskedError extends Error {}

/** The footer of an answer by rules. */
export const RULES = 'rules, no model';

/** True if an answer by rules says that it needs a model, or asks which monitor is meant. */
export const isNotUnderstood = (text: string) =>
  /\blanguage model\b|Which one do you mean\?/.test(text);

/** A model that sends nothing for this long has stalled. */
const STALL_MS = 120_000;

const THREAD = 'evals';
const CHANNEL = { platform: 'console', channel: 'general' };
/** May do all there is, so that what a card proposes can be done. */
const PERSON = { id: 'U1', name: 'Ada', mayManage: async () => true };

/** Asks the question of a case in a channel of a bot of its own, and confirms what is proposed where that is wanted. */
export async function askCase(
  { question, proposes = false }: Pick<EvalCase, 'question' | 'proposes'>,
  { model, models, week }: { model: string; models: Models; week: Week },
): Promise<Evidence> {
  const letGo = standAt(NOW_MS);
  const { log } = recordingLog();
  const store = await openLowdbStore({ folder: week.createFolder(), log });
  const gateway = createGatewayClient(models);
  const recorded = recordGateway(gateway);
  const monitoring = createMonitoringClient({ baseUrl: week.url, apiKey: week.createKey() });
  const settings: BotSettings = {
    askModel: undefined,
    askStallMs: STALL_MS,
    feedbackDays: 90,
    alertPlaces: [],
    alertPollMs: 30_000,
    mayAdd: 'everyone',
    mayManage: 'everyone',
  };
  const lease = { fence: 1, isHeld: () => true };
  const bot = await createBot({
    ...{ store, lease, monitoring, settings, log },
    gateway: recorded.client,
  });
  try {
    const before = await week.list();
    const changesBefore = week.changes.length;
    const fromMs = performance.now();
    const { text, end } = await read(
      // By its name: the standard model is passed over where nobody serves it now.
      await dispatch(bot, { command: 'ask', values: { question, model } }),
    );
    const tookMs = performance.now() - fromMs;
    if (text.trim() === '') throw new NotAskedError(end.note ?? 'The answer is empty.');
    const changedBefore = week.changes.slice(changesBefore);
    const cards = end.cards ?? [];
    const confirmed = proposes ? await confirmAll(bot, cards) : [];
    return {
      question,
      text,
      note: end.note,
      by: end.footer.split(' · ')[0] ?? '',
      calls: callsOf(recorded.requests, { question, monitors: before }),
      cards,
      changedBefore,
      confirmed,
      before,
      after: week.changes.length > changesBefore ? await week.list() : before,
      week,
      used: recorded.used(),
      tookMs,
    };
  } finally {
    await bot.stop();
    await Promise.all([gateway.close(), monitoring.close()]);
    await store.close();
    letGo();
  }
}

let said = 0;

function dispatch(bot: Bot, request: Invocation['request']): Promise<Reply> {
  said += 1;
  const id = `evals:${process.pid}:${said}`;
  return bot.dispatch({ id, request, place: CHANNEL, thread: THREAD, person: PERSON });
}

/** Reads an answer as a platform does that shows it. */
async function read(reply: Reply) {
  if (reply.kind !== 'answer') throw new NotAskedError(`The bot gave ${reply.kind}, no answer.`);
  let text = '';
  let end: Extract<AnswerPart, { kind: 'end' }> | undefined;
  await reply.begin({ thread: THREAD });
  for await (const part of reply.stream(THREAD)) {
    if (part.kind === 'text') text += part.text;
    if (part.kind === 'end') end = part;
  }
  await reply.ended();
  if (!end) throw new NotAskedError('The answer had no end.');
  return { text, end };
}

/** Presses the first button of each card, which does what it proposes. */
async function confirmAll(bot: Bot, cards: readonly Card[]): Promise<Card[]> {
  const replies: Card[] = [];
  for (const { actions: [confirm] = [] } of cards) {
    if (!confirm) continue;
    const { command, values } = confirm;
    const reply = await dispatch(bot, { command, values });
    if (reply.kind === 'card') replies.push(reply.card);
  }
  return replies;
}

/** The prompt for a model without tools contains this line before the look-ups. */
const TOLD = 'The data below was looked up just now for the question.';

/** The tools that were called for an answer: the last request has all of them, with what they gave. Pure. */
function callsOf(
  requests: readonly ChatRequest[],
  asked: { question: string; monitors: readonly Monitor[] },
): Call[] {
  const messages = requests.at(-1)?.messages ?? [];
  const results = new Map(
    messages
      .filter(({ role }) => role === 'tool')
      .map(({ tool_call_id: id, content }) => [id, textOf(content)]),
  );
  const called = messages.flatMap(({ tool_calls: calls }) => (calls ?? []) as SentCall[]);
  if (called.length > 0) {
    return called.map(({ id, function: { name, arguments: given } }) => ({
      tool: name,
      input: parsed(given),
      result: results.get(id),
    }));
  }
  const facts = textOf(messages[0]?.content).split(TOLD)[1];
  return requests.length === 0 || facts !== undefined ? callsByRules(asked, facts) : [];
}

/**
 * The look-ups and the change that rules plan for a question, with names of monitors: rules know the ids from the list. A model
 * without functions gets all results as one text. Pure.
 */
function callsByRules(
  { question, monitors }: { question: string; monitors: readonly Monitor[] },
  facts: string | undefined,
): Call[] {
  const at = { nowMs: NOW_MS, zone: 'UTC' };
  const index = indexNames(monitors.map((one) => ({ ...one, kind: 'monitor' as const })));
  const plan = planAnswer(findInThread(question, [], { ...at, index }), at);
  if (!plan || 'text' in plan) return [];
  const lookups = 'change' in plan ? [plan.change] : plan.views.flatMap((view) => view.lookups);
  return lookups.map(({ tool, input }) => {
    const monitor = monitors.find(({ id }) => id === input.monitor)?.name;
    return { tool, input: monitor === undefined ? input : { ...input, monitor }, result: facts };
  });
}

interface SentCall {
  id: string;
  function: { name: string; arguments: string };
}

const textOf = (content: unknown) => (typeof content === 'string' ? content : '');

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
