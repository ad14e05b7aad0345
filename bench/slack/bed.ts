import { type ModelProvider, startModelProvider } from '../../test/fakes/model-provider.ts';
import { shownText } from '../../test/fakes/slack/limits.ts';
import { type SlackFake, startSlack } from '../../test/fakes/slack/slack.ts';
import type { BenchContext } from '../shared/area.ts';
import { startAskwatch, waitBeside } from '../shared/askwatch-process.ts';
import { type AskedBed, createQuestions, markOf, type Question } from '../shared/questions.ts';
import type { TargetProcess } from '../shared/target-process.ts';

/** The program at work between a Slack and a gateway of the bench, which both answer at once. */
export interface SlackBed extends AskedBed {
  slack: SlackFake;
  /** Asks by `/ask` in a new channel, or by a direct message. */
  ask(options: { chunks: string[]; direct?: boolean }): Promise<Question>;
  /** From the first text of each answer at the gateway to the call of Slack's that shows it, milliseconds. */
  firstTextsMs(questions: readonly Question[]): number[];
}

/** Time limit of 200 answers at once. */
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
  const { botToken, appToken, apiUrl } = slack;
  const platform = {
    ...{ SLACK_BOT_TOKEN: botToken, SLACK_APP_TOKEN: appToken, SLACK_API_URL: apiUrl },
  };
  const server = await startAskwatch(context, { platform, provider });
  return bedOf({ slack, provider, server, closeSlack: () => closeSlack() });
}

/** Texts of an unfinished answer. */
const UNFINISHED = /Thinking…|Writing…/;

function bedOf(parts: {
  slack: SlackFake;
  provider: ModelProvider;
  server: TargetProcess;
  closeSlack(): Promise<void>;
}): SlackBed {
  const { slack, provider, server, closeSlack } = parts;
  const { pace, add, callOf } = createQuestions(provider);
  const until = waitBeside(server, LIMIT_MS);

  return {
    ...{ slack, pid: server.pid, pace, callOf, until },
    async ask({ chunks, direct = false }) {
      const { number, text } = add(chunks);
      const { id: channel } = slack.addChannel({ id: `${direct ? 'D' : 'C'}00BENCH${number}` });
      if (direct) slack.say(text, { channel });
      else ackedMs(await slack.slash('/ask', text, { channel }));
      return { number, channel };
    },
    firstTextsMs: (questions) =>
      questions.map((question) => {
        const writtenAtMs = callOf(question)?.firstChunkAtMs ?? Number.NaN;
        return shownAtMs(slack, question) - writtenAtMs;
      }),
    shown: (questions) =>
      until('whole answers', () => questions.every((question) => isWhole(slack, question))),
    async stop() {
      if (slack.unhandled.length > 0) throw new Error(`Slack has no ${slack.unhandled[0]}.`);
      await server.stop();
      await Promise.all([closeSlack(), provider.close()]);
    },
  };
}

/** When Slack took the first text of an answer. */
function shownAtMs(slack: SlackFake, question: Question): number {
  const shows = slack.calls.find(
    ({ args, applied }) =>
      applied &&
      args.channel === question.channel &&
      JSON.stringify([args.blocks, args.markdown_text]).includes(markOf(question)),
  );
  if (!shows) throw new Error(`The answer to question ${question.number} was never shown.`);
  return shows.atMs;
}

function isWhole(slack: SlackFake, question: Question): boolean {
  const { messages } = slack.channel(question.channel);
  const texts = messages.map(shownText);
  return (
    !messages.some(({ streaming }) => streaming) &&
    texts.some((text) => text.includes(markOf(question))) &&
    !texts.some((text) => UNFINISHED.test(text))
  );
}

/** Returns the time of an acknowledgement. Throws if there was none. */
export function ackedMs({ ms }: { ms: number | undefined }): number {
  if (ms === undefined) throw new Error('A slash command was not acknowledged.');
  return ms;
}
