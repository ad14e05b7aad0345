import { onTestFinished } from 'vitest';
import { slackInstallations, slackInstallStates } from '../../../src/app/platforms/slack.ts';
import { createServer } from '../../../src/http/server.ts';
import { createSlack, type Slack } from '../../../src/slack/slack.ts';
import type { Store } from '../../../src/store/store.ts';
import { openBrowser, type Page } from '../../fakes/slack/browser.ts';
import { type Consent, type SlackTeams, startSlackTeams } from '../../fakes/slack/teams.ts';
import { startTestBot, type TestBot, type TestBotOptions } from '../bot.ts';
import { recordingLog } from '../recording-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';
import { type Mode, RESTING } from './running-slack.ts';

/** Two workspaces; both have a channel `CHANNEL` and the same people. */
export const [ALPHA, BETA] = ['T00ALPHA', 'T00BETA'];

/** The real platform with a real bot, store and server, for workspaces that install the app. */
export interface RunningTeams {
  teams: SlackTeams;
  slack: Slack;
  bot: TestBot;
  folder: string;
  lines: Array<Record<string, unknown>>;
  fatal: Error[];
  url: string;
  /** Opens the install page, consents, and shows the page at the end. */
  install(team: string, more?: Partial<Consent>): Promise<Page>;
  /** Ends all of it but the workspaces. */
  stop(): Promise<void>;
}

interface Options {
  mode?: Mode;
  teams?: SlackTeams;
  folder?: string;
  /** In place of one in the folder; the caller's to close. */
  store?: Store;
  clientSecret?: string;
  bot?: TestBotOptions;
}

export async function runTeams(options: Options = {}): Promise<RunningTeams> {
  const { mode = 'http', folder = await temporaryFolder() } = options;
  const teams = options.teams ?? (await startSlackTeams([ALPHA, BETA]));
  const { log, lines } = recordingLog();
  const fatal: Error[] = [];
  const store = options.store ?? (await openTestStore({ folder, log }));
  const slack = await createSlack({
    install: {
      clientId: teams.clientId,
      clientSecret: options.clientSecret ?? teams.clientSecret,
      installations: store.collection(slackInstallations),
      usedStates: store.claims(slackInstallStates),
    },
    ...(mode === 'socket' ? { appToken: teams.appToken } : { signingSecret: teams.signingSecret }),
    apiUrl: teams.apiUrl,
    isHeld: () => true,
    log,
    onFatal: (error) => fatal.push(error),
    paces: {
      editMs: 50,
      appendMs: 20,
      streamMs: 210_000,
      alertMs: 20,
      retryMs: 50,
      storeMs: 2_000,
      drainMs: 3_000,
    },
  });
  const kit = await createServer({ log, version: '9.8.7' });
  for (const { method, path, handle } of slack.routes) kit.addRawRoute(method, path, handle);
  const url = await kit.listen({ host: '127.0.0.1', port: 0 });
  teams.redirectUrl = `${url}/slack/oauth_redirect`;
  if (mode === 'http') {
    for (const id of [ALPHA, BETA]) teams.team(id).useHttp(`${url}/slack/events`);
  }
  const settings = { ...RESTING, ...options.bot?.settings };
  const bot = await startTestBot({ ...options.bot, settings, store });
  await slack.start(bot.bot);
  await bot.bot.start([slack]);

  let stopping: Promise<void> | undefined;
  async function stopAll() {
    await bot.stop();
    await slack.stop();
    await kit.close();
    if (!options.store) await store.close();
  }
  function stop() {
    stopping ??= stopAll();
    return stopping;
  }
  onTestFinished(stop);
  return {
    ...{ teams, slack, bot, folder, lines, fatal, url, stop },
    async install(team, more = {}) {
      const browser = openBrowser();
      const { link } = await browser.open(`${url}/slack/install`);
      return await browser.open(teams.consent(link, { team, ...more }));
    },
  };
}
