import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { readFailure } from '../api/call-failure.ts';
import type { SendQueue } from '../api/send-queue.ts';
import { oneLine } from '../render/blocks.ts';
import { clip, harmless, withoutMentions } from '../render/text.ts';

/** An answer whose progress Slack shows. */
export interface AgentAnswer {
  channel: string;
  thread: string;
  question: string;
}

/** An answer of which Slack shows that it is generated. */
export interface AgentSession {
  /** Says what is looked at, in place of Slack's own words, until there is text. Waits for nothing and never throws. */
  tell(words: string): void;
  end(): Promise<void>;
}

/** The agent view of the app: what Slack shows of it in direct messages besides messages. */
export type Agent = ReturnType<typeof createAgent>;

/** Refusals that say that the app is no agent here, mostly since it was installed before it became one. */
const NO_AGENT = new Set([
  'access_denied',
  'missing_scope',
  'no_permission',
  'not_allowed',
  'not_allowed_token_type',
  'not_authorized',
  'unknown_method',
]);

/** Slack's word for: there is no Stop, since nobody would hear it. Source: Slack docs, "agent_session_stopped". */
const NO_STOP = 'missing_agent_session_stopped_event_subscription';

/** It may be installed again meanwhile. */
const TRY_AGAIN_MS = 10 * 60_000;

/** Source: Slack docs, "agents.sessions.setStatus", `title`. */
const MAX_TITLE = 200;

const STATUS = 'agents.sessions.setStatus';

/**
 * The words of a status, which that method does not take: it knows four words of its own. Slack has this one until February
 * 2027, and may show its own words all the same. Source: vercel/chat pull request 897.
 */
const WORDS = 'assistant.threads.setStatus';

/** Source: getsentry/junior pull request 56, of the status; letta-ai/letta-code pull request 3553, of the other. */
const MAX_WORDS = 50;

/** What Slack's markup is made of; whether it is read in a status, no page says. */
const MARKUP = /[<>&*_~`]/g;

/**
 * Answers that are streamed within a minute, all of a workspace together: each begins a stream and ends it, and Slack takes
 * 20 of either, so that the end of each has room. Source: Slack docs, "Rate limits", tier 2.
 */
const MOST_STREAMED = 18;

export function createAgent(options: {
  client: webApi.WebClient;
  queue: SendQueue;
  log: Logger;
  /** How long Slack's minute is. */
  minuteMs: number;
}) {
  const { client, queue, log, minuteMs } = options;
  /** When answers of the last minute ended, oldest first. */
  const endsMs: number[] = [];
  const underWay = new Set<AgentAnswer>();
  /** The first status, which shows whether this works at all; none later is waited for. */
  let trial: Promise<boolean> | undefined;
  let notBeforeMs = 0;
  let wordsNotBeforeMs = 0;
  let warned = false;

  function setUnavailable(reason: string) {
    notBeforeMs = performance.now() + TRY_AGAIN_MS;
    trial = undefined;
    if (warned) return;
    warned = true;
    log.warn(
      { reason },
      'this Slack app is not an agent, so direct messages show no status and no suggestions; replace its App Manifest with the current one and reinstall the app',
    );
  }

  function refused(error: unknown) {
    const { kind, code } = readFailure(error);
    if (kind === 'refused' && NO_AGENT.has(code)) setUnavailable(code);
  }

  async function setStatus(
    { channel, thread }: Pick<AgentAnswer, 'channel' | 'thread'>,
    set: { status: 'processing' | 'active'; title?: string },
  ) {
    const { warning, response_metadata: more } = await client.agents.sessions.setStatus({
      channel_id: channel,
      thread_ts: thread,
      ...set,
    });
    if (warning === NO_STOP || more?.warnings?.includes(NO_STOP)) setUnavailable(NO_STOP);
  }

  /** Once: a status that comes late is none. Whether it may be shown now. */
  async function setProcessing(answer: AgentAnswer): Promise<boolean> {
    const { channel, question } = answer;
    const title = clip(harmless(oneLine(question)), MAX_TITLE);
    const run = () => setStatus(answer, { status: 'processing', ...(title !== '' && { title }) });
    try {
      await queue.once({ method: STATUS, channel, run });
      return true;
    } catch (error) {
      refused(error);
      log.debug({ err: error }, 'could not show that an answer is being generated');
      return readFailure(error).kind === 'unknown';
    }
  }

  /** Once: words that come late are wrong. Never throws. */
  async function setWords({ channel, thread }: AgentAnswer, words: string): Promise<void> {
    if (performance.now() < wordsNotBeforeMs) return;
    const status = clip(withoutMentions(oneLine(words.replace(MARKUP, ' '))), MAX_WORDS);
    const said = { status, loading_messages: [status] };
    const run = () =>
      client.assistant.threads.setStatus({ channel_id: channel, thread_ts: thread, ...said });
    try {
      await queue.once({ method: WORDS, channel, run });
    } catch (error) {
      // A refusal says nothing of streams and of the other status.
      if (readFailure(error).kind === 'refused') {
        wordsNotBeforeMs = performance.now() + TRY_AGAIN_MS;
      }
      log.debug({ err: error }, 'could not show the current look-up');
    }
  }

  /** Until it is done: otherwise the status stays for an hour. Source: NousResearch/hermes-agent issue 90978. */
  async function setActive(at: Pick<AgentAnswer, 'channel' | 'thread'>): Promise<void> {
    const run = () => setStatus(at, { status: 'active' });
    try {
      await queue.patiently({ method: STATUS, channel: at.channel, repeatable: true, run });
    } catch (error) {
      refused(error);
      const { kind, code } = readFailure(error);
      if (kind === 'refused') return;
      log.warn(
        { reason: code, channel: at.channel },
        'could not clear the status; Slack may keep showing that an answer is being generated',
      );
    }
  }

  const underWayAt = ({ channel, thread }: Pick<AgentAnswer, 'channel' | 'thread'>) =>
    [...underWay].filter((answer) => answer.channel === channel && answer.thread === thread);

  function hasRoom(): boolean {
    while ((endsMs[0] ?? Number.POSITIVE_INFINITY) <= performance.now() - minuteMs) endsMs.shift();
    return underWay.size + endsMs.length < MOST_STREAMED;
  }

  const isAvailable = () => performance.now() >= notBeforeMs;

  return {
    /**
     * Shows that an answer is generated, with Slack's own Stop, until `end`. Undefined where Slack does not let the app, and
     * where it would take no more streams for a while. Never throws.
     */
    async begin(answer: AgentAnswer): Promise<AgentSession | undefined> {
      if (!isAvailable() || !hasRoom()) return undefined;
      underWay.add(answer);
      const shown = setProcessing(answer);
      let told: Promise<unknown> = shown;
      function tell(words: string) {
        told = told.then(() => setWords(answer, words));
      }
      async function end() {
        // In the order in which they are meant.
        const isShown = await shown;
        await told;
        underWay.delete(answer);
        endsMs.push(performance.now());
        if (isShown && underWayAt(answer).length === 0) await setActive(answer);
      }
      trial ??= shown;
      await trial;
      if (isAvailable()) return { tell, end };
      await end();
      return undefined;
    },
    /** Answers under way. */
    count: () => underWay.size,
    /** Shows that no answer is generated in a thread, unless one is here. Never throws. */
    async settle(channel: string, thread: string) {
      const at = { channel, thread };
      if (underWayAt(at).length === 0) await setActive(at);
    },
    /** Suggests what to ask in a direct conversation. Never throws. */
    async suggest(channel: string) {
      if (!isAvailable()) return;
      try {
        await client.assistant.threads.setSuggestedPrompts({
          channel_id: channel,
          prompts: [...SUGGESTED_PROMPTS],
        });
      } catch (error) {
        refused(error);
        log.debug({ err: error }, 'could not set the suggestions');
      }
    },
    /** Takes note of a refusal: from one that concerns the whole app on, nothing of this is tried for a while. */
    refused,
  };
}

/**
 * What Slack offers to say in a direct conversation with the bot: whole lines, since a press sends them as they are. At
 * most four. Source: Slack docs, "assistant.threads.setSuggestedPrompts".
 */
export const SUGGESTED_PROMPTS = [
  { title: 'What is down?', message: '/monitor list down' },
  { title: 'Show all monitors', message: '/monitor list' },
  { title: 'Which models can I ask?', message: '/askwatch models' },
  { title: 'What else can you do?', message: '/askwatch help' },
];
