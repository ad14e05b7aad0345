import { onTestFinished } from 'vitest';
import { createSlack, type Slack } from '../../../src/slack/slack.ts';
import { type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
import { startTestBot, type TestBot, type TestBotOptions } from '../bot.ts';
import { runningServer } from '../http/running-server.ts';
import { recordingLog } from '../recording-log.ts';

/** The real platform with the real Bolt App, on a fake workspace. */
export interface RunningSlack {
  fake: SlackFake;
  slack: Slack;
  fatal: Error[];
  lines: Array<Record<string, unknown>>;
}

export type Mode = 'socket' | 'http';

/**
 * Looks at its monitors all the time, for tests of alerts. Any other bot looks once: each look asks over HTTP and reads
 * files, twenty times a second.
 */
export const WATCHING = { alertPollMs: 50 };
export const RESTING = { alertPollMs: 600_000 };

/** The platform on a new workspace (or on `fake`), not started. */
export async function makeSlack(
  options: {
    fake?: SlackFake;
    /** URL of the workspace's API, if not the default. */
    apiUrl?: string;
    mode?: Mode;
    botToken?: string;
    appToken?: string;
    streamMs?: number;
    editMs?: number;
    /** Long where a test looks at what an acknowledgement waits for. */
    storeMs?: number;
    /** Long where a test looks at what a stop left, on a machine that is busy. */
    drainMs?: number;
    /** True while it may show anything; always if absent. */
    isHeld?: () => boolean;
  } = {},
): Promise<RunningSlack> {
  const fake = options.fake ?? (await startSlack());
  const { mode = 'socket', botToken = fake.botToken, appToken = fake.appToken } = options;
  // The paces below are faster by the same factor.
  fake.clock.run(50);
  const { streamMs = 600_000, editMs = 50, storeMs = 2_000, drainMs = 3_000 } = options;
  const { log, lines } = recordingLog();
  const fatal: Error[] = [];
  const slack = await createSlack({
    botToken,
    ...(mode === 'socket' ? { appToken } : { signingSecret: fake.signingSecret }),
    apiUrl: options.apiUrl ?? fake.apiUrl,
    isHeld: options.isHeld ?? (() => true),
    log,
    onFatal: (error) => fatal.push(error),
    paces: { editMs, appendMs: 20, streamMs, alertMs: 20, retryMs: 50, storeMs, drainMs },
  });
  onTestFinished(() => slack.stop());
  if (mode === 'http') fake.useHttp(await mount(slack));
  return { fake, slack, fatal, lines };
}

/** The platform and a real bot, both started, on a new workspace (or on `fake`); the bot is resting, unless told otherwise. */
export async function runSlack(
  options: Parameters<typeof makeSlack>[0] & { bot?: TestBotOptions } = {},
): Promise<RunningSlack & { bot: TestBot }> {
  const running = await makeSlack(options);
  const settings = { ...RESTING, ...options.bot?.settings };
  const bot = await startTestBot({ ...options.bot, settings });
  await running.slack.start(bot.bot);
  await bot.bot.start([running.slack]);
  return { ...running, bot };
}

/** A server with the platform's route, as the program has one. Gives the route's address. */
async function mount(slack: Slack): Promise<string> {
  const [route] = slack.routes;
  if (!route) throw new Error('The platform has no route.');
  const { method, path, handle } = route;
  const { url } = await runningServer((kit) => kit.addRawRoute(method, path, handle));
  return url + path;
}
