import { setTimeout as pause } from 'node:timers/promises';
import { createBot } from '../../src/bot/bot.ts';
import type { OpenBot } from '../../src/bot/platform.ts';
import type { Card } from '../../src/bot/shared/card.ts';
import type { Reply } from '../../src/bot/shared/invocation.ts';
import { createProposals } from '../../src/bot/tools/proposals.ts';
import { createGatewayClient } from '../../src/clients/gateway.ts';
import { createMonitoringClient, type MonitoringClient } from '../../src/clients/monitoring.ts';
import { recordingLog } from '../../test/helpers/recording-log.ts';
import { openTestStore } from '../../test/helpers/test-store.ts';
import { withStatus } from '../week/facts.ts';
import type { PlainAnswer } from '../week/keys.ts';
import { NOW_MS } from '../week/planned-monitor.ts';
import type { PlainQuestion } from '../week/right-answers.ts';
import type { Models } from '../world/models.ts';
import { standAt } from '../world/standing-clock.ts';

const PLACE = { platform: 'console', channel: 'general' };
const PERSON = { id: 'U1', name: 'Ada', mayManage: async () => true };
const THREAD = 'evals';

/** Asks in a thread of a new bot, whose channel has alerts about the ongoing outages. */
export async function askPlain(
  { question, before = [] }: Pick<PlainQuestion, 'question' | 'before'>,
  { models, url, key }: { models: Models; url: string; key: string },
): Promise<PlainAnswer> {
  const restoreClock = standAt(NOW_MS);
  const { log } = recordingLog();
  asked += 1;
  const folder = `plain-${process.pid}-${asked}`;
  const store = await openTestStore({ folder });
  const gateway = createGatewayClient(models);
  const monitoring = createMonitoringClient({ baseUrl: url, apiKey: key });
  const bot = await createBot({
    store,
    lease: { fence: 1, isHeld: () => true },
    gateway,
    monitoring: upAtFirst(monitoring),
    settings: {
      askModel: undefined,
      askStallMs: 10_000,
      feedbackDays: 90,
      alertPlaces: [PLACE],
      alertPollMs: 5,
      mayAdd: 'everyone',
      mayManage: 'everyone',
    },
    log,
  });
  let answer: Pick<PlainAnswer, 'text' | 'cards'>;
  try {
    await bot.start([]);
    const down = withStatus('DOWN');
    while (!down.every(({ id }) => bot.incidents.openOf(id))) await pause(5);
    for (const one of before) await read(await ask(bot, one));
    answer = await read(await ask(bot, question));
  } finally {
    await bot.stop();
    await Promise.all([gateway.close(), monitoring.close()]);
    await store.close();
    restoreClock();
  }
  return { ...answer, proposals: await proposalsIn(folder, answer.cards) };
}

/** The stored changes behind cards. */
async function proposalsIn(folder: string, cards: readonly Card[]) {
  const store = await openTestStore({ folder });
  const proposals = createProposals(store);
  const found = await Promise.all(
    cards.map(async ({ actions: [confirm] = [] }) => {
      const id = confirm && 'values' in confirm ? confirm.values.proposal : undefined;
      return await proposals.get(String(id));
    }),
  );
  await store.close();
  return found.flatMap((one) => one ?? []);
}

/** Every monitor is UP in the first list, and the real statuses come as changes, so that outages are seen to begin. */
function upAtFirst(monitoring: MonitoringClient): MonitoringClient {
  let lists = 0;
  let polls = 0;
  return {
    ...monitoring,
    async list(options = {}) {
      lists += 1;
      const list = await monitoring.list(options);
      return lists === 1 ? list.map((one) => ({ ...one, status: 'UP', status_changes: 0 })) : list;
    },
    async changes(cursor, { signal } = {}) {
      polls += 1;
      if (polls > 1) await pause(3_600_000, undefined, { signal });
      const monitors = await monitoring.list();
      return { count: monitors.length, monitors, removed: [], cursor };
    },
  };
}

let asked = 0;

function ask(bot: OpenBot, question: string): Promise<Reply> {
  asked += 1;
  const request = { command: 'ask', values: { question } };
  const id = `plain:${process.pid}:${asked}`;
  return bot.dispatch({ id, request, place: PLACE, thread: THREAD, person: PERSON });
}

async function read(reply: Reply): Promise<Pick<PlainAnswer, 'text' | 'cards'>> {
  if (reply.kind !== 'answer') throw new Error(`The bot sent ${reply.kind}, no answer.`);
  let text = '';
  let answer: Pick<PlainAnswer, 'text' | 'cards'> | undefined;
  await reply.begin({ thread: THREAD });
  for await (const part of reply.stream(THREAD)) {
    if (part.kind === 'text') text += part.text;
    if (part.kind === 'end') answer = { text, cards: part.cards ?? [] };
  }
  await reply.ended();
  return answer ?? { text, cards: [] };
}
