import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openBrowser } from '../fakes/slack/browser.ts';
import { shownText } from '../fakes/slack/limits.ts';
import { CHANNEL } from '../fakes/slack/slack.ts';
import { startSlackTeams } from '../fakes/slack/teams.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { runCli } from '../helpers/end-to-end/key-commands.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { filesWith } from '../helpers/test-store.ts';

const [ALPHA, BETA] = ['T00ALPHA', 'T00BETA'];
const PASSWORD = 'correct horse battery';

/** Within which nothing may be left. */
const MINUTE_MS = 60_000;

/** The program with two workspaces and data of a person who wants to be forgotten. */
async function begin() {
  const slack = await startSlackTeams([ALPHA, BETA]);
  const dataDir = await temporaryFolder();
  const data = join(dataDir, 'data');
  const options = {
    dataDir,
    env: {
      SLACK_CLIENT_ID: slack.clientId,
      SLACK_CLIENT_SECRET: slack.clientSecret,
      SLACK_SIGNING_SECRET: slack.signingSecret,
      SLACK_API_URL: slack.apiUrl,
      CONSOLE_PASSWORD: PASSWORD,
      MONITOR_ALLOW_PRIVATE: '127.0.0.1/32',
    },
  };
  let askwatch = await startAskwatch(options);
  const monitoring = await askwatch.createKey('monitoring');
  const listen = () => {
    slack.redirectUrl = `${askwatch.url}/slack/oauth_redirect`;
    for (const team of [ALPHA, BETA]) slack.team(team).useHttp(`${askwatch.url}/slack/events`);
  };
  listen();

  const browser = openBrowser();
  for (const team of [ALPHA, BETA]) {
    const { link } = await browser.open(`${askwatch.url}/slack/install`);
    expect((await browser.open(slack.consent(link, { team }))).text).toContain('is installed');
  }

  const inThread = (team: string, thread: string) =>
    slack.team(team).thread(CHANNEL, thread).map(shownText);
  const answered = (team: string, thread: string, count: number) =>
    eventually(() => {
      const texts = inThread(team, thread);
      return texts.filter((text) => text.includes('language model')).length === count;
    });
  const threads = new Map<string, string>();
  for (const team of [ALPHA, BETA]) {
    await slack.team(team).slash('/ask', `what of s3cret-of-${team}?`);
    const root = await eventually(() => slack.team(team).messages(CHANNEL)[0]);
    await answered(team, root.ts, 1);
    slack.team(team).mention(`and of s3cret-of-${team}?`, { threadTs: root.ts });
    await answered(team, root.ts, 2);
    threads.set(team, root.ts);
  }

  const headers = { 'x-api-key': monitoring, 'content-type': 'application/json' };
  const monitors = () => `${askwatch.url}/api/v1/public/monitors`;
  const site = {
    ...{ name: 'shop of s3cret', check_type: 'KEYWORD', target: 'http://127.0.0.1:9/s3cret' },
    config: { target_keyword: 's3cret', headers: { Authorization: 'Bearer s3cret' } },
  };
  const made = await fetch(monitors(), { method: 'POST', headers, body: JSON.stringify(site) });
  expect(made.ok).toBe(true);
  const { id: monitor } = (await made.json()) as { id: string };
  const [stored = ''] = await filesWith('shop of s3cret', join(data, 'monitors'));
  const sealed = /"sealed":"([^"]+)"/.exec(await readFile(join(data, 'monitors', stored), 'utf8'));

  const created = await runCli(dataDir, [
    'keys',
    'create',
    '--service',
    'gateway',
    '--name',
    'k3y-of-somebody',
  ]);
  const key = /awg_(\w{8})/.exec(created.output)?.[1] ?? '';
  await runCli(dataDir, ['keys', 'limit', key, '--tokens-per-day', '5000']);

  const call = (path: string, more: { cookie?: string; body?: string } = {}) =>
    fetch(`${askwatch.url}/console/${path}`, {
      method: 'POST',
      headers: {
        origin: askwatch.url,
        'content-type': 'application/json',
        ...(more.cookie && { cookie: more.cookie }),
      },
      body: more.body ?? '{}',
    });
  const entered = await call('login', { body: JSON.stringify({ password: PASSWORD }) });
  const cookie = /askwatch-session=[\w-]+/.exec(entered.headers.get('set-cookie') ?? '')?.[0] ?? '';
  const session = hash('sha256', cookie.split('=')[1] ?? '', 'hex');

  return {
    data,
    stop: () => askwatch.stop(),
    /** Kills it with -9 and starts it again. */
    async restart() {
      await askwatch.kill();
      askwatch = await startAskwatch(options);
      listen();
    },
    /** Deletions through public commands, each with texts that occur only in the deleted data. */
    deletions: [
      {
        texts: [`s3cret-of-${ALPHA}`],
        async act() {
          const thread = threads.get(ALPHA) ?? '';
          slack.team(ALPHA).mention('/askwatch forget', { threadTs: thread });
          await eventually(() => inThread(ALPHA, thread).join().includes('is forgotten'));
        },
      },
      {
        // Alerts may still mention the monitor, but not its secrets.
        texts: [sealed?.[1] ?? 'no secret'],
        async act() {
          const removed = await fetch(`${monitors()}/${monitor}`, { method: 'DELETE', headers });
          expect(removed.ok).toBe(true);
        },
      },
      {
        texts: ['k3y-of-somebody'],
        async act() {
          expect(await runCli(dataDir, ['keys', 'revoke', key])).toMatchObject({ code: 0 });
        },
      },
      {
        texts: [session],
        async act() {
          expect((await call('logout', { cookie })).status).toBe(200);
        },
      },
      {
        texts: [BETA, `s3cret-of-${BETA}`],
        act: () => slack.uninstall(BETA),
      },
    ],
  };
}

test.each([
  ['and it runs on', false],
  ['and it is killed with -9 right after the acknowledgement', true],
])('what is deleted in each public way is in no file within a minute, %s', async (_, isKilled) => {
  const { data, deletions, restart, stop } = await begin();
  for (const { texts, act } of deletions) {
    for (const text of texts) expect(await filesWith(text, data), text).not.toEqual([]);
    await act();
    if (isKilled) await restart();
    for (const text of texts) {
      const isGone = async () => (await filesWith(text, data)).length === 0;
      await eventually(isGone, { withinMs: MINUTE_MS, what: `no file with ${text}` });
    }
  }
  expect(await filesWith(ALPHA, data)).not.toEqual([]);
  expect(await stop()).toBe(0);
});
