import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { readFailure } from '../api/call-failure.ts';
import type { SendQueue } from '../api/send-queue.ts';
import { oneLine } from '../render/blocks.ts';
import { clip, harmless, withoutMentions } from '../render/text.ts';

interface AgentThread {
  channel: string;
  thread: string;
}

interface AgentAnswer extends AgentThread {
  question: string;
}

/** The status of one answer. Neither method throws. */
export interface AgentSession {
  /** Shows the current look-up in place of Slack's own words, until there is text. */
  tell(words: string): void;
  end(): Promise<void>;
}

/** Refusals that say the app is no agent here, usually because it was installed before it became one. */
const NO_AGENT = new Set([
  'access_denied',
  'missing_scope',
  'no_permission',
  'not_allowed',
  'not_allowed_token_type',
  'not_authorized',
  'unknown_method',
]);

/** Slack shows no Stop button if the app doesn't receive its event. Source: Slack docs, "agent_session_stopped". */
const NO_STOP = 'missing_agent_session_stopped_event_subscription';

/** After a refusal, since the app may be reinstalled. */
const TRY_AGAIN_MS = 10 * 60_000;

/** Source: Slack docs, "agents.sessions.setStatus", `title`. */
const MAX_TITLE = 200;
const STATUS = 'agents.sessions.setStatus';

/**
 * Shows our own words, because the other method knows only four of its own. Slack keeps this one until February 2027, and may
 * show its own words all the same. Source: vercel/chat pull request 897.
 */
const WORDS = 'assistant.threads.setStatus';

/** Sources: getsentry/junior pull request 56 (status); letta-ai/letta-code pull request 3553 (loading messages). */
const MAX_WORDS = 50;

/** Slack's docs don't say if a status is parsed. */
const MARKUP = /[<>&*_~`]/g;

/**
 * Answers streamed within a minute in a workspace. Slack takes 20 starts and 20 ends of streams a minute, and each end needs
 * room. Source: Slack docs, "Rate limits", tier 2.
 */
const MOST_STREAMED = 18;

/** Status and suggestions in direct messages, which Slack shows next to messages. */
export class Agent {
  private readonly client: webApi.WebClient;
  private readonly queue: SendQueue;
  private readonly log: Logger;
  private readonly minuteMs: number;
  /** Ends of answers in the last minute, oldest first. */
  private readonly endsMs: number[] = [];
  private readonly underWay = new Set<AgentAnswer>();
  /** The first status, which shows if this works at all. Later ones aren't awaited. */
  private trial: Promise<boolean> | undefined;
  private notBeforeMs = 0;
  private wordsNotBeforeMs = 0;
  private hasWarned = false;

  constructor(options: {
    client: webApi.WebClient;
    queue: SendQueue;
    log: Logger;
    minuteMs: number;
  }) {
    this.client = options.client;
    this.queue = options.queue;
    this.log = options.log;
    this.minuteMs = options.minuteMs;
  }

  /**
   * Shows that an answer is generated, with Slack's own Stop, until `end`. `undefined` if the app isn't an agent here, or if
   * Slack would accept no more streams. Never throws.
   */
  async begin(answer: AgentAnswer): Promise<AgentSession | undefined> {
    if (!this.isAvailable() || !this.hasRoom()) return undefined;
    this.underWay.add(answer);
    const shown = this.setProcessing(answer);
    let last: Promise<unknown> = shown;
    const tell = (words: string) => {
      last = last.then(() => this.setWords(answer, words));
    };
    const end = async () => {
      const isShown = await shown;
      await last;
      this.underWay.delete(answer);
      this.endsMs.push(performance.now());
      if (isShown) await this.settle(answer);
    };
    this.trial ??= shown;
    await this.trial;
    if (this.isAvailable()) return { tell, end };
    await end();
    return undefined;
  }

  count(): number {
    return this.underWay.size;
  }

  /** Clears the status of a thread, unless an answer is under way in it. Never throws. */
  async settle({ channel, thread }: AgentThread): Promise<void> {
    const isBusy = [...this.underWay].some(
      (answer) => answer.channel === channel && answer.thread === thread,
    );
    if (!isBusy) await this.setActive({ channel, thread });
  }

  /** Never throws. */
  async suggest(channel: string): Promise<void> {
    if (!this.isAvailable()) return;
    try {
      await this.client.assistant.threads.setSuggestedPrompts({
        channel_id: channel,
        prompts: [...SUGGESTED_PROMPTS],
      });
    } catch (error) {
      this.refused(error);
      this.log.debug({ err: error }, 'could not set the suggestions');
    }
  }

  /** After a refusal that concerns the whole app, nothing of this is tried for a while. */
  refused(error: unknown): void {
    const { kind, code } = readFailure(error);
    if (kind === 'refused' && NO_AGENT.has(code)) this.setUnavailable(code);
  }

  private isAvailable(): boolean {
    return performance.now() >= this.notBeforeMs;
  }

  private setUnavailable(reason: string): void {
    this.notBeforeMs = performance.now() + TRY_AGAIN_MS;
    this.trial = undefined;
    if (this.hasWarned) return;
    this.hasWarned = true;
    this.log.warn(
      { reason },
      'this Slack app is not an agent, so direct messages show no status and no suggestions; replace its App Manifest with the current one and reinstall the app',
    );
  }

  private hasRoom(): boolean {
    const sinceMs = performance.now() - this.minuteMs;
    while ((this.endsMs[0] ?? Number.POSITIVE_INFINITY) <= sinceMs) this.endsMs.shift();
    return this.underWay.size + this.endsMs.length < MOST_STREAMED;
  }

  private async setStatus(
    { channel, thread }: AgentThread,
    set: { status: 'processing' | 'active'; title?: string },
  ): Promise<void> {
    const at = { channel_id: channel, thread_ts: thread };
    const answer = await this.client.agents.sessions.setStatus({ ...at, ...set });
    const { warning, response_metadata: more } = answer;
    if (warning === NO_STOP || more?.warnings?.includes(NO_STOP)) this.setUnavailable(NO_STOP);
  }

  /** Tries once, since a late status is wrong. True if Slack may show it now. */
  private async setProcessing(answer: AgentAnswer): Promise<boolean> {
    const { channel, question } = answer;
    const title = clip(harmless(oneLine(question)), MAX_TITLE) || undefined;
    const run = () => this.setStatus(answer, { status: 'processing', title });
    try {
      await this.queue.once({ method: STATUS, channel, run });
      return true;
    } catch (error) {
      this.refused(error);
      this.log.debug({ err: error }, 'could not show that an answer is being generated');
      return readFailure(error).kind === 'unknown';
    }
  }

  /** Tries once, since late words are wrong. Never throws. */
  private async setWords({ channel, thread }: AgentThread, words: string): Promise<void> {
    if (performance.now() < this.wordsNotBeforeMs) return;
    const status = clip(withoutMentions(oneLine(words.replace(MARKUP, ' '))), MAX_WORDS);
    const shown = { channel_id: channel, thread_ts: thread, status, loading_messages: [status] };
    const run = () => this.client.assistant.threads.setStatus(shown);
    try {
      await this.queue.once({ method: WORDS, channel, run });
    } catch (error) {
      // This refusal says nothing about streams and the other status.
      if (readFailure(error).kind === 'refused') {
        this.wordsNotBeforeMs = performance.now() + TRY_AGAIN_MS;
      }
      this.log.debug({ err: error }, 'could not show the current look-up');
    }
  }

  /** Tries until it is done: otherwise the status stays for an hour. Source: NousResearch/hermes-agent issue 90978. */
  private async setActive(at: AgentThread): Promise<void> {
    const { channel } = at;
    const run = () => this.setStatus(at, { status: 'active' });
    try {
      await this.queue.patiently({ method: STATUS, channel, repeatable: true, run });
    } catch (error) {
      this.refused(error);
      const { kind, code } = readFailure(error);
      if (kind === 'refused') return;
      this.log.warn(
        { reason: code, channel },
        'could not clear the status; Slack may keep showing that an answer is being generated',
      );
    }
  }
}

/**
 * Suggested questions in a direct conversation, at most four. A press sends the line as it is.
 * Source: Slack docs, "assistant.threads.setSuggestedPrompts".
 */
export const SUGGESTED_PROMPTS = [
  { title: 'What is down?', message: '/monitor list down' },
  { title: 'Show all monitors', message: '/monitor list' },
  { title: 'Which models can I ask?', message: '/askwatch models' },
  { title: 'What else can you do?', message: '/askwatch help' },
];
