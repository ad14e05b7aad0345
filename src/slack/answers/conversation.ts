import type { Dispatch } from '../../bot/commands/dispatch.ts';
import type { Card } from '../../bot/shared/card.ts';
import type { Reply } from '../../bot/shared/invocation.ts';
import { explainFailure, readFailure } from '../api/call-failure.ts';
import type { Messages } from '../api/messages.ts';
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

/** Who waits to know whether an input is stored. */
interface Hearing {
  comesAgain: boolean;
  /** Counts when it is called first. */
  heard(isStored: boolean): void;
}

/** What people ask, on its way to the bot and back. */
export function createConversation(options: {
  showing: Omit<AnswerShowing, 'hold' | 'showCard'>;
  messages: Messages;
  /** Is called with every failed call, since it may mean that the bot's access ended. */
  checkAccess(error: unknown): Promise<void>;
}) {
  const { showing, messages, checkAccess } = options;
  const { log } = showing;
  const showCard = createShowCard(log);
  const underWay = new Set<Promise<void>>();

  async function show(answer: Reply, input: UserInput, showEphemeral: ShowEphemeral) {
    if (answer.kind === 'nothing') return;
    if (answer.kind === 'card') {
      if (answer.inPlace && (await showInPlace(answer, input))) return;
      if (answer.private) await showCard(answer.card, showEphemeral);
      else await showCardToAll(answer.card, input);
      return;
    }
    const all = { ...showing, hold, showCard };
    if (answer.private) await showEphemeralAnswer(answer, input, all, showEphemeral);
    else await showAnswer(answer, input, all);
  }

  /** Puts a card in the place of the one whose button was pressed. Never throws; false where that is not to be changed. */
  async function showInPlace(
    { card, private: isPrivate }: { card: Card; private: boolean },
    { invocation, channel, pressed, responseUrl }: UserInput,
  ): Promise<boolean> {
    try {
      if (pressed) {
        // Everybody sees that message.
        if (isPrivate) return false;
        await showCard(card, (content) => messages.update(channel, pressed.ts, content, 'end'));
        return true;
      }
      if (invocation.pressed === undefined || !responseUrl) return false;
      await showCard(card, (content) => respond(responseUrl, content, 'in_place'));
      return true;
    } catch (error) {
      const { kind, code } = readFailure(error);
      const err = kind === 'unknown' && { err: error };
      log.info(
        { reason: code, channel, ...err },
        'could not replace a card; showing the new one below it',
      );
      return false;
    }
  }

  async function showCardToAll(card: Card, input: UserInput): Promise<void> {
    const to = destinationOf(input);
    const { takenOver } = input;
    const responseUrl = addressOf(input);
    const tried = { triedSinceMs: takenOver?.heardAtMs };
    await showCard(card, async (content) => {
      try {
        await messages.post(to, content, `${input.invocation.id}/card`, tried);
      } catch (error) {
        if (!responseUrl || !NOT_THERE.has(readFailure(error).code)) throw error;
        await respond(responseUrl, content, 'in_channel');
      }
    });
  }

  /** By the command's own address while it lasts, else as an ephemeral message. */
  function createShowEphemeral(input: UserInput): ShowEphemeral {
    const { invocation, takenOver } = input;
    const responseUrl = addressOf(input);
    const heardMs = takenOver ? Date.now() - takenOver.heardAtMs : 0;
    const untilMs = performance.now() + RESPONSES_WITHIN_MS - heardMs;
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
      try {
        await messages.postEphemeral(destinationOf(input), invocation.person.id, content);
      } catch (error) {
        // A message may be asked about where the bot is not: there the gesture's own address is all that is left.
        const { responseUrl: last } = input;
        if (!last || !NOT_THERE.has(readFailure(error).code)) throw error;
        await respond(last, content, 'ephemeral');
      }
    };
  }

  async function converse(dispatch: Dispatch, input: UserInput, hearing: Hearing): Promise<void> {
    const showEphemeral = createShowEphemeral(input);
    let isStored = false;
    try {
      const answer = await dispatch(input.invocation, () => {
        isStored = true;
        hearing.heard(true);
      });
      hearing.heard(isStored);
      // Whoever hears it next shows what comes of it.
      if (isStored || !hearing.comesAgain) await show(answer, input, showEphemeral);
    } catch (error) {
      hearing.heard(isStored);
      await tell(error, input, showEphemeral);
    }
  }

  /** Tells the person that the reply could not be shown. Never throws. */
  async function tell(error: unknown, { channel }: UserInput, showEphemeral: ShowEphemeral) {
    log.warn({ err: error, channel }, 'could not show a reply');
    await checkAccess(error);
    try {
      await showEphemeral(renderNote(`Askwatch couldn’t post its reply. ${explainFailure(error)}`));
    } catch (cause) {
      log.debug({ err: cause }, 'could not tell the person about it either');
    }
  }

  async function goOn(dispatch: Dispatch, input: UserInput): Promise<void> {
    const showEphemeral = createShowEphemeral(input);
    try {
      await show(await dispatch(input.invocation), input, showEphemeral);
    } catch (error) {
      // Slack, or the connection to it, may be better the next time.
      if (readFailure(error).kind !== 'refused') throw error;
      await tell(error, input, showEphemeral);
    }
  }

  function hold(turn: Promise<void>): void {
    underWay.add(turn);
    void turn.finally(() => underWay.delete(turn));
  }

  return {
    /**
     * Hands an input to the bot and shows the reply. Resolves, while that goes on, once it is known whether the input is
     * stored. Of one that is not, and that `comesAgain`, nothing is shown. Never throws.
     */
    answer: (dispatch: Dispatch, input: UserInput, { comesAgain = false } = {}) =>
      new Promise<boolean>((heard) => hold(converse(dispatch, input, { comesAgain, heard }))),
    /**
     * Shows what comes of an input of another process; resolves when it is shown, or never can be. Throws what the `WebClient`
     * threw where it can be tried again.
     */
    async takeOver(dispatch: Dispatch, input: UserInput) {
      const done = goOn(dispatch, input);
      hold(done.catch(() => {}));
      await done;
    },
    /** Counts other work, which never throws, as a reply under way. */
    track: hold,
    /** Resolves when every reply under way is shown. */
    async drained() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

/** Where replies may be sent: what is sent there stands in the channel, not in the thread. */
const addressOf = ({ responseUrl, inThread }: UserInput) => (inThread ? undefined : responseUrl);

/** The channel, or the thread that the input came from; a message at the top of a channel is answered there. */
function destinationOf({ invocation: { thread }, channel, inThread }: UserInput) {
  return {
    channel,
    ...(inThread && thread !== undefined ? { thread } : {}),
  };
}
