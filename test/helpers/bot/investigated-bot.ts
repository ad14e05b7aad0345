import { conversationKey } from '../../../src/bot/ask/conversations.ts';
import type { Fault, Script } from '../../fakes/model-provider.ts';
import type { TestBotOptions } from '../bot.ts';
import { eventually } from '../eventually.ts';
import { OPS, startAlertedBot } from './alerted-bot.ts';

/** A conclusion as a model writes it, with the first fact as its evidence. */
export const conclusion = (change: object = {}) =>
  JSON.stringify({
    cause: 'The web server of Shop refuses connections',
    confidence: 'medium',
    evidence: [{ fact: 'F1' }],
    ruled_out: [],
    next_step: 'Restart the web server of Shop',
    not_seen: ['deployments'],
    ...change,
  });

/** A bot that investigates outages in one channel as soon as they are posted, and posts an alert there. */
export async function startInvestigatedBot({
  names,
  script = conclusion(),
  fault,
  tokensPerDay = 1_000_000,
  tags,
  usedTokens = 0,
  ...options
}: TestBotOptions & {
  names?: string[];
  script?: Script;
  /** Every call of the model fails with it. */
  fault?: Fault;
  tokensPerDay?: number;
  tags?: string[];
  /** Tokens that were used today, before. */
  usedTokens?: number;
} = {}) {
  const world = await startAlertedBot(names, options);
  world.provider.answerWith(script);
  if (fault) world.provider.failWith(fault);
  await world.usageLog.add({
    ...{ atMs: Date.now(), place: OPS, person: 'investigations', name: 'Investigations' },
    ...{ model: 'test-model', tokens: usedTokens },
  });
  const investigate = { afterMs: 1, tokensPerDay, tags };
  await world.channelSettings.change(OPS, { settings: { investigate } });
  const message = () => world.slack.messages.find(({ under }) => under === world.alert.id);
  return {
    ...world,
    /** The message of the investigation. */
    message,
    /** Resolves to the message once it shows a result. */
    async concluded() {
      return await eventually(() => {
        const shown = message();
        return shown?.card.actions?.some(({ label }) => label === 'Investigate again') && shown;
      });
    },
    key: conversationKey(OPS, world.thread),
  };
}
