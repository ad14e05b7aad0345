import { setTimeout as pause } from 'node:timers/promises';
import type { types } from '@slack/bolt';
import type { GrowingAnswer } from '../../bot/ask/live-answer.ts';
import { splitMarkdown } from '../../bot/ask/split-markdown.ts';
import { readFailure } from '../api/call-failure.ts';
import { appendEveryMs, type Paces } from '../api/paces.ts';
import type { Streams } from '../api/streams.ts';
import { ANSWER_LIMIT, renderEnd } from '../render/render-answer.ts';
import { harmless, unmaskSoFar, withoutMentions } from '../render/text.ts';
import type { Agent } from './agent.ts';
import { createEditedAnswer, type EditedAnswer, type Showing } from './edited-answer.ts';
import { createStreamPages, type Hurry } from './stream-pages.ts';

/** What an answer is shown with that is streamed, and goes on by edits where it cannot be. */
export interface StreamShowing extends Showing {
  streams: Streams;
  agent: Agent;
  paces: Pick<Paces, 'appendMs' | 'streamMs'>;
}

/** With these a stream is over already, or gone. */
export const OVER = new Set(['message_not_in_streaming_state', 'message_not_found']);

/**
 * An answer as streams of Slack's own, a further one where the last is full or old. Should Slack not take a stream, or not
 * say whether it took something, the answer goes on by edits from the beginning of that message on, as in a channel: so
 * nothing is lost or doubled.
 */
export function createStreamedAnswer(
  showing: StreamShowing,
  answer: {
    /** Who asked where, and the newest message of the thread. */
    target: { channel: string; thread: string; person: string; after: string };
    /** The answer's own. */
    id: string;
    /** Is called with each message as soon as it is there. */
    onBegun(ts: string): Promise<void>;
  },
) {
  const { streams, agent, paces, log } = showing;
  const { target, id, onBegun } = answer;
  const { channel, thread } = target;
  const pages = createStreamPages();
  /** The page under way, and the message that shows it once it is begun. */
  let page = pages.page();
  let stream: { channel: string; ts: string; beganAtMs: number } | undefined;
  let newest = target.after;
  let edit: EditedAnswer | undefined;
  let nextShowMs = performance.now();

  function hurry(): Hurry {
    const ageMs = stream ? performance.now() - stream.beganAtMs : 0;
    if (ageMs < paces.streamMs) return 'none';
    return ageMs < paces.streamMs * 1.1 ? 'line' : 'word';
  }

  async function begin(text: string) {
    const beganAtMs = performance.now();
    const ts = await streams.start(target, text);
    newest = ts;
    stream = { channel, ts, beganAtMs };
    await onBegun(ts);
    return stream;
  }

  async function finish(text: string, blocks: types.KnownBlock[], goesOn: boolean) {
    const left = stream ? text : '';
    await streams.stop(stream ?? (await begin(text)), { text: left, blocks, goesOn });
    stream = undefined;
  }

  /** Sends what is new; false when there is nothing to begin a stream with. */
  async function streamOn(answer: GrowingAnswer): Promise<boolean> {
    const { text, ended, ...view } = answer;
    const shown = ended ? harmless(text) : settledText(text);
    for (;;) {
      const part = pages.take(shown, { ended, hurry: hurry() });
      if (part.full) {
        await finish(part.text, [], true);
        page = pages.page();
        continue;
      }
      if (part.text === '' && !stream) return !ended;
      if (ended) {
        await finish(part.text, renderEnd(view), false);
      } else if (!stream) await begin(part.text);
      else if (part.text !== '') await streams.append(stream, part.text);
      return true;
    }
  }

  /** Finds the message that the edits go on with, and leaves it in a state in which it can be changed. */
  async function breakOff(error: unknown): Promise<void> {
    const { kind, code } = readFailure(error);
    log.info(
      { reason: code, channel, ...(kind === 'unknown' && { err: error }) },
      'could not continue streaming an answer; continuing with edits',
    );
    if (!stream) agent.refused(error);
    try {
      if (!stream && kind === 'unknown') {
        const ts = await streams.findLost({ channel, thread }, newest);
        if (ts !== undefined) stream = { channel, ts, beganAtMs: 0 };
      }
      if (stream && !OVER.has(code)) await streams.abandon(stream);
    } catch (cause) {
      // It was over, or is not known to be: the edit that follows shows it.
      log.debug({ err: cause }, 'could not find out whether a stream has ended');
    }
  }

  function startEdits() {
    return createEditedAnswer(showing, {
      to: { channel, thread },
      id: `${id}/rest`,
      shown: stream ? [{ ts: stream.ts }] : [],
    });
  }

  return {
    /** Throws what Slack answered when the answer cannot be shown by edits either. */
    async show(answer: GrowingAnswer) {
      if (!edit) {
        try {
          if (await streamOn(answer)) return;
        } catch (error) {
          await breakOff(error);
        }
        edit = startEdits();
      }
      const { text, ended: _ended, ...view } = answer;
      await edit.show({
        messages: splitMarkdown(page.opening + harmless(text).slice(page.start), ANSWER_LIMIT),
        ...view,
      });
    },
    /** Resolves when it may be shown as it is by then. */
    async turn(ended: AbortSignal) {
      if (edit) return await edit.turn(ended);
      const waitMs = nextShowMs - performance.now();
      // The end of the answer waits for nothing.
      if (waitMs > 0) await pause(waitMs, undefined, { signal: ended }).catch(() => {});
      nextShowMs = performance.now() + appendEveryMs(paces, agent.count());
    },
  };
}

/**
 * How many visible characters after the first sign of a possible mention decide what it is: the longest way to write one,
 * `&#x3c;` and `!doctype` with what follows, takes 16.
 */
const DECIDED_BY = 24;

/** Every way to begin a mention begins with one of these. */
const BEGINS = /[<&@]/;

/** What decides nothing however much there is of it: what `withoutMentions` skips, the zeros of an entity, halves of pairs. */
const DECIDES_NOTHING = /[0\\\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}]|[^\P{Cc}\n\t]/u;

/**
 * A model's text so far, made harmless, without the end that may yet become part of a mention: whatever comes later, this
 * is how the whole text made harmless begins. For messages to which one can only add.
 */
export function settledText(text: string): string {
  const unmasked = unmaskSoFar(text);
  const whole = withoutMentions(unmasked);
  // What is a mention is decided from its first sign on, so the rest means the same without what stands before it.
  const rest = withoutMentions(unmasked.slice(undecidedFrom(unmasked)));
  return whole.slice(0, whole.length - rest.length);
}

function undecidedFrom(text: string): number {
  let from = /[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length;
  let visible = 0;
  for (let at = text.length - 1; at >= 0 && visible < DECIDED_BY; at -= 1) {
    const character = text.charAt(at);
    if (BEGINS.test(character)) from = at;
    if (!DECIDES_NOTHING.test(character)) visible += 1;
  }
  return from;
}
