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
import { EditedAnswer, type EditShowing } from './edited-answer.ts';
import { createStreamPages, type Hurry } from './stream-pages.ts';

export interface StreamShowing extends EditShowing {
  streams: Streams;
  agent: Agent;
  paces: Pick<Paces, 'appendMs' | 'streamMs'>;
}

export const OVER = new Set(['message_not_in_streaming_state', 'message_not_found']);

/**
 * An answer in Slack's own streams, with a new one when the last is full or old. If Slack refuses a stream, or an outcome is
 * unknown, the answer continues with edits from the beginning of that message, so nothing is lost or doubled.
 */
export function createStreamedAnswer(
  showing: StreamShowing,
  answer: {
    /** `after` is the newest message of the thread. */
    target: { channel: string; thread: string; person: string; after: string };
    id: string;
    /** Called with each message as soon as it is posted. */
    onBegun(ts: string): Promise<void>;
  },
) {
  const { streams, agent, paces, log } = showing;
  const { target, id, onBegun } = answer;
  const { channel, thread } = target;
  const pages = createStreamPages();
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

  /** Sends the new text; false if there is no text to begin a stream with. */
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

  /** Finds the message with which the edits continue, and ends its stream. */
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
      // The edit that follows shows if it has ended.
      log.debug({ err: cause }, 'could not find out whether a stream has ended');
    }
  }

  function startEdits() {
    return new EditedAnswer(showing, {
      to: { channel, thread },
      id: `${id}/rest`,
      shown: stream ? [{ id: stream.ts }] : [],
    });
  }

  return {
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
    async turn(ended: AbortSignal) {
      if (edit) return await edit.turn(ended);
      const waitMs = nextShowMs - performance.now();
      // The end of the answer doesn't wait.
      if (waitMs > 0) await pause(waitMs, undefined, { signal: ended }).catch(() => {});
      nextShowMs = performance.now() + appendEveryMs(paces, agent.count());
    },
  };
}

/** Visible characters that decide if a sign begins a mention: the longest form, `&#x3c;` with `!doctype `, has 16. */
const DECIDED_BY = 24;
const BEGINS = /[<&@]/;

/** Characters that decide nothing: the ones that `withoutMentions` skips, zeros of an entity, halves of pairs. */
const DECIDES_NOTHING = /[0\\\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}]|[^\P{Cc}\n\t]/u;

/**
 * Returns a growing text made harmless, without an end that may become part of a mention. Later text doesn't change it, so it
 * suits messages that can only be added to.
 */
export function settledText(text: string): string {
  const unmasked = unmaskSoFar(text);
  const whole = withoutMentions(unmasked);
  // A mention is decided from its first sign on, so the rest can be read alone.
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
