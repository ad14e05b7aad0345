import type { Bot } from '../../bot/platform.ts';
import type { Card } from '../../bot/shared/card.ts';
import { explainFailure, readFailure } from '../api/call-failure.ts';
import { respond } from '../api/response-url.ts';
import type { Content } from '../render/blocks.ts';
import { renderNote } from '../render/render-answer.ts';
import {
  type AnswerShowing,
  type ShowEphemeral,
  showAnswer,
  showEphemeralAnswer,
} from './answer.ts';
import { createShowCard } from './charts.ts';
import type { UserInput } from './user-input.ts';

/** Uses of one response address, one less than Slack allows. */
const MAX_RESPONSES = 4;
const RESPONSES_WITHIN_MS = 29 * 60_000;

/** Refusals that mean: the bot is not where the command was typed. */
const NOT_THERE = new Set(['not_in_channel', 'channel_not_found']);

/** What people ask, on its way to the bot and back. */
export function createConversation(options: {
  showing: Omit<AnswerShowing, 'hold'>;
  /** Is called with every failed call, since it may mean that the bot's access ended. */
  checkAccess(error: unknown): Promise<void>;
}) {
  const { showing, checkAccess } = options;
  const { messages, log } = showing;
  const showCard = createShowCard(log);
  const underWay = new Set<Promise<void>>();

  async function reply(bot: Bot, input: UserInput, showEphemeral: ShowEphemeral): Promise<void> {
    const answer = await bot.dispatch(input.invocation);
    if (answer.kind === 'nothing') return;
    if (answer.kind === 'card') {
      if (answer.private) await showCard(answer.card, showEphemeral);
      else await showCardToAll(answer.card, input);
      return;
    }
    if (answer.private) await showEphemeralAnswer(answer, showEphemeral);
    else await showAnswer(answer, input, { ...showing, hold });
  }

  async function showCardToAll(card: Card, input: UserInput): Promise<void> {
    const to = destinationOf(input);
    const { responseUrl } = input;
    await showCard(card, async (content) => {
      try {
        await messages.post(to, content, `${input.invocation.id}/card`);
      } catch (error) {
        if (!responseUrl || !NOT_THERE.has(readFailure(error).code)) throw error;
        await respond(responseUrl, content, 'in_channel');
      }
    });
  }

  /** By the command's own address while it lasts, else as an ephemeral message. */
  function createShowEphemeral(input: UserInput): ShowEphemeral {
    const { responseUrl, invocation } = input;
    const untilMs = performance.now() + RESPONSES_WITHIN_MS;
    let used = 0;
    return async (content: Content) => {
      if (responseUrl && used < MAX_RESPONSES && performance.now() < untilMs) {
        used += 1;
        try {
          return await respond(responseUrl, content, 'ephemeral');
        } catch (error) {
          if (readFailure(error).kind !== 'refused') throw error;
        }
      }
      await messages.postEphemeral(destinationOf(input), invocation.person.id, content);
    };
  }

  async function converse(bot: Bot, input: UserInput): Promise<void> {
    const showEphemeral = createShowEphemeral(input);
    try {
      await reply(bot, input, showEphemeral);
    } catch (error) {
      log.warn({ err: error, channel: input.channel }, 'a reply could not be shown');
      await checkAccess(error);
      try {
        await showEphemeral(renderNote(`The reply could not be shown. ${explainFailure(error)}`));
      } catch (cause) {
        log.debug({ err: cause }, 'nor could the person be told');
      }
    }
  }

  function hold(turn: Promise<void>): void {
    underWay.add(turn);
    void turn.finally(() => underWay.delete(turn));
  }

  return {
    /** Hands an input to the bot and shows the reply. Returns at once; never throws. */
    answer: (bot: Bot, input: UserInput) => hold(converse(bot, input)),
    /** Counts other work, which never throws, as a reply under way. */
    track: hold,
    /** Resolves when every reply under way is shown. */
    async drained() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

/** The channel, or the thread that the input came from; a message at the top of a channel is answered there. */
function destinationOf({ invocation: { thread }, channel, inThread }: UserInput) {
  return {
    channel,
    ...(inThread && thread !== undefined ? { thread } : {}),
  };
}
