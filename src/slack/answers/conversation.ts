import type { Dispatch } from '../../bot/commands/dispatch.ts';
import type { Card } from '../../bot/shared/card.ts';
import type { Reply } from '../../bot/shared/invocation.ts';
import { explainFailure, readFailure } from '../api/call-failure.ts';
import type { Respond } from '../api/response-url.ts';
import { renderNote } from '../render/render-answer.ts';
import { type AnswerShowing, showAnswer, showEphemeralAnswer } from './answer.ts';
import {
  addressOf,
  createShowEphemeral,
  destinationOf,
  NOT_THERE,
  type ShowEphemeral,
} from './ephemeral.ts';
import type { UserInput } from './user-input.ts';

/** The acknowledgement of an input, which waits until the input is stored. */
interface Hearing {
  comesAgain: boolean;
  /** Only the first call counts. */
  heard(isStored: boolean): void;
}

export function createConversation(options: {
  showing: Omit<AnswerShowing, 'hold'>;
  respond: Respond;
  /** Called with each error, since it may mean that the bot's access ended. */
  checkAccess(error: unknown): Promise<void>;
}) {
  const { showing, respond, checkAccess } = options;
  const { messages, showCard, log } = showing;
  const underWay = new Set<Promise<void>>();

  async function show(answer: Reply, input: UserInput, showEphemeral: ShowEphemeral) {
    if (answer.kind === 'nothing') return;
    if (answer.kind === 'card') {
      if (answer.inPlace && (await showInPlace(answer, input))) return;
      if (answer.private) await showCard(answer.card, showEphemeral);
      else await showCardToAll(answer.card, input);
      return;
    }
    const all = { ...showing, hold };
    if (answer.private) await showEphemeralAnswer(answer, input, all, showEphemeral);
    else await showAnswer(answer, input, all);
  }

  /** Replaces the card whose button was pressed. Never throws; false if that message must stay. */
  async function showInPlace(
    { card, private: isPrivate }: { card: Card; private: boolean },
    { invocation, channel, pressed, responseUrl }: UserInput,
  ): Promise<boolean> {
    try {
      if (pressed) {
        // Everyone sees that message.
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
    const responseUrl = addressOf(input);
    await showCard(card, async (content) => {
      try {
        await messages.post(to, content, `${input.invocation.id}/card`);
      } catch (error) {
        if (!responseUrl || !NOT_THERE.has(readFailure(error).code)) throw error;
        await respond(responseUrl, content, 'in_channel');
      }
    });
  }

  async function converse(dispatch: Dispatch, input: UserInput, hearing: Hearing): Promise<void> {
    const showEphemeral = createShowEphemeral(input, { messages, respond });
    let isStored = false;
    try {
      const answer = await dispatch(input.invocation, () => {
        isStored = true;
        hearing.heard(true);
      });
      // The next delivery of the same input shows its reply.
      if (!isStored && hearing.comesAgain) return hearing.heard(false);
      await show(answer, input, showEphemeral);
      hearing.heard(true);
    } catch (error) {
      hearing.heard(isStored);
      await tell(error, input, showEphemeral);
    }
  }

  /** Never throws. */
  async function tell(error: unknown, { channel }: UserInput, showEphemeral: ShowEphemeral) {
    log.warn({ err: error, channel }, 'could not show a reply');
    await checkAccess(error);
    try {
      await showEphemeral(renderNote(`Askwatch couldn’t post its reply. ${explainFailure(error)}`));
    } catch (cause) {
      log.debug({ err: cause }, 'could not tell the person about it either');
    }
  }

  function hold(turn: Promise<void>): void {
    underWay.add(turn);
    void turn.finally(() => underWay.delete(turn));
  }

  return {
    /**
     * Hands an input to the bot and shows the reply. Resolves to true once the input is stored, or once its person sees that
     * storing failed; the reply may follow later. If Slack sends the input again (`comesAgain`), such a failure is not shown.
     * Never throws.
     */
    answer: (dispatch: Dispatch, input: UserInput, { comesAgain = false } = {}) =>
      new Promise<boolean>((heard) => hold(converse(dispatch, input, { comesAgain, heard }))),
    /** Tracks other work, which never throws. */
    track: hold,
    async drained() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
