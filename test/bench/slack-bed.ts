import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type ModelProvider,
  type ProviderCall,
  startModelProvider,
} from '../fakes/model-provider.ts';
import { type SlackFake, startSlack } from '../fakes/slack.ts';
import { shownText } from '../fakes/slack-limits.ts';
import type { BenchContext } from './area.ts';
import { startProcess, type TargetProcess } from './target-process.ts';

/** A question that was asked, alone in its channel. */
export interface Question {
  number: number;
  channel: string;
}

/** The program at work between a Slack and a gateway of the bench, which both answer at once. */
export interface SlackBed {
  slack: SlackFake;
  pid: number;
  /** The time before each chunk of every answer from now on, those under way too. */
  pace(chunkMs: number): void;
  /** Asks by `/ask` in a new channel, or by a direct message; the answer begins with a mark of its own and goes on as told. */
  ask(options: { chunks: string[]; direct?: boolean }): Promise<Question>;
  /** The call of a question at the gateway; undefined before it came. */
  callOf(question: Question): ProviderCall | undefined;
  /** From the first text of each answer at the gateway to the call of Slack's that shows it, milliseconds. */
  firstTextsMs(questions: readonly Question[]): number[];
  /** Waits until the last view of each answer is shown. */
  shown(questions: readonly Question[]): Promise<void>;
  /** Waits; throws when it takes too long, or the program has ended. */
  until(what: string, condition: () => boolean): Promise<void>;
  stop(): Promise<void>;
}

// This runs from dist/bench/, beside the program that it measures.
const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url));
const READY = /Services +http:\S+?:(\d+)\/v1 /;

const STEP_MS = 100;
/** The ends of 200 answers are shown at 50 a minute. */
const LIMIT_MS = 360_000;

export async function startSlackBed(context: BenchContext): Promise<SlackBed> {
  let closeSlack = async () => {};
  // It measures what the program can do, not what Slack lets it.
  const slack = await startSlack(
    (end) => {
      closeSlack = end;
    },
    { limits: false },
  );
  const provider = await startModelProvider();
  const server = await startProgram(context, { slack, provider });
  return bedOf({ slack, provider, server, closeSlack });
}

async function startProgram(
  { folder, cores, profile }: BenchContext,
  { slack, provider }: { slack: SlackFake; provider: ModelProvider },
): Promise<TargetProcess> {
  const data = await mkdtemp(join(folder, 'slack-'));
  return await startProcess({
    name: 'Askwatch',
    args: [...(profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : []), PROGRAM],
    ready: READY,
    core: cores.target,
    // Its working folder has no .env file.
    cwd: data,
    env: {
      ...{ DATA_DIR: data, PORT: '0', LOG_LEVEL: 'warn', ASKWATCH_ROLES: 'bot,monitoring' },
      ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken },
      ...{ SLACK_API_URL: slack.apiUrl },
      ...{ GATEWAY_BASE_URL: provider.url, GATEWAY_API_KEY: provider.apiKey },
    },
  });
}

const questionText = (number: number) => `This is question ${number} of the bench.`;
const markOf = (number: number) => `Answer ${number}. `;

/** Which question a call at the gateway is about. */
function numberIn(body: { messages: Array<{ content: unknown }> }): number {
  const last = JSON.stringify(body.messages.at(-1)?.content);
  return Number(/question (\d+) of the bench/.exec(last)?.[1]);
}

/** What is shown while an answer is not whole. */
const UNFINISHED = /Thinking…|Writing…/;

function bedOf(parts: {
  slack: SlackFake;
  provider: ModelProvider;
  server: TargetProcess;
  closeSlack(): Promise<void>;
}): SlackBed {
  const { slack, provider, server, closeSlack } = parts;
  const answers = new Map<number, string[]>();
  const script = (body: Parameters<typeof numberIn>[0]) => answers.get(numberIn(body)) ?? [];

  async function until(what: string, condition: () => boolean) {
    const deadlineMs = performance.now() + LIMIT_MS;
    while (!condition()) {
      server.checkAlive();
      if (performance.now() > deadlineMs) throw new Error(`Waited in vain for ${what}.`);
      await pause(STEP_MS);
    }
  }

  const calls = new Map<number, ProviderCall>();
  let noted = 0;
  function callOf({ number }: Question) {
    for (const call of provider.calls.slice(noted)) calls.set(numberIn(call.body), call);
    noted = provider.calls.length;
    return calls.get(number);
  }

  return {
    slack,
    pid: server.pid,
    pace: (chunkMs) => provider.answerWith(script, { chunkMs }),
    async ask({ chunks, direct = false }) {
      const number = answers.size + 1;
      answers.set(number, [markOf(number), ...chunks]);
      const { id: channel } = slack.addChannel({ id: `${direct ? 'D' : 'C'}00BENCH${number}` });
      if (direct) slack.say(questionText(number), { channel });
      else ackedMs(await slack.slash('/ask', questionText(number), { channel }));
      return { number, channel };
    },
    callOf,
    firstTextsMs: (questions) =>
      questions.map((question) => {
        const writtenAtMs = callOf(question)?.firstChunkAtMs ?? Number.NaN;
        return shownAtMs(slack, question) - writtenAtMs;
      }),
    shown: (questions) =>
      until('whole answers', () => questions.every((question) => isWhole(slack, question))),
    until,
    async stop() {
      if (slack.unhandled.length > 0) throw new Error(`Slack has no ${slack.unhandled[0]}.`);
      await server.stop();
      await Promise.all([closeSlack(), provider.close()]);
    },
  };
}

/** When Slack took the first text of an answer. */
function shownAtMs(slack: SlackFake, { number, channel }: Question): number {
  const mark = markOf(number).trim();
  const shows = slack.calls.find(
    ({ args, applied }) =>
      applied &&
      args.channel === channel &&
      JSON.stringify([args.blocks, args.markdown_text]).includes(mark),
  );
  if (!shows) throw new Error(`The answer to question ${number} was never shown.`);
  return shows.atMs;
}

function isWhole(slack: SlackFake, { number, channel }: Question): boolean {
  const { messages } = slack.channel(channel);
  const texts = messages.map(shownText);
  return (
    !messages.some(({ streaming }) => streaming) &&
    texts.some((text) => text.includes(markOf(number).trim())) &&
    !texts.some((text) => UNFINISHED.test(text))
  );
}

/** How long an acknowledgement took. Throws when there was none. */
export function ackedMs({ ms }: { ms: number | undefined }): number {
  if (ms === undefined) throw new Error('A slash command was not acknowledged.');
  return ms;
}
