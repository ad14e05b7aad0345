import { expect, test } from 'vitest';
import { createProbe } from '../../src/cli/doctor-fetch.ts';
import { checkSlack, type SlackSetup } from '../../src/slack/doctor.ts';
import { CHANNEL, type SlackFake, startSlack } from '../fakes/slack/slack.ts';
import { recordingLog } from '../helpers/recording-log.ts';

/** Level and text of each finding, by its name. */
async function examine(slack: SlackFake, options: Partial<SlackSetup> = {}) {
  const { log, lines } = recordingLog();
  const findings = await checkSlack({
    botToken: slack.botToken,
    appToken: slack.appToken,
    apiUrl: slack.apiUrl,
    channels: [],
    usesGroups: false,
    fetch: createProbe().fetch,
    log,
    ...options,
  });
  expect(JSON.stringify({ findings, lines })).not.toMatch(/fake-(bot|app)-token|fake-ticket/);
  expect(slack.unhandled).toEqual([]);
  return new Map(findings.map(({ check, level, text }) => [check, { level, text }]));
}

test('a workspace where all is well', async () => {
  const found = await examine(await startSlack(), { channels: [CHANNEL] });
  expect([...found]).toEqual([
    ['Slack bot', { level: 'ok', text: 'signed in as @askwatch in Fake' }],
    [
      'Slack scopes',
      { level: 'ok', text: expect.stringMatching(/^all \d+ scopes that Askwatch uses$/) },
    ],
    [`Slack ${CHANNEL}`, { level: 'ok', text: 'the bot is in it' }],
    ['Slack app token', { level: 'ok', text: 'accepted (Socket Mode)' }],
  ]);
});

test('names all scopes that are missing, and the one that user groups take', async () => {
  const slack = await startSlack();
  const groups = await examine(slack, { usesGroups: true });
  expect(groups.get('Slack scopes')?.text).toMatch(/WHO_MAY_ADD.*usergroups:read/);
  slack.scopes.add('usergroups:read');
  expect((await examine(slack, { usesGroups: true })).get('Slack scopes')?.level).toBe('ok');
  slack.scopes.delete('commands');
  slack.scopes.delete('im:history');
  const { level, text } = (await examine(slack)).get('Slack scopes') ?? {};
  expect([level, text]).toEqual([
    'problem',
    expect.stringContaining('The app lacks commands, im:history. '),
  ]);
});

test('a scope that may be left out is told with what it is for, and no problem', async () => {
  const slack = await startSlack();
  slack.scopes.delete('files:write');
  expect((await examine(slack)).get('Slack scopes')).toEqual({
    level: 'warning',
    text: expect.stringMatching(
      /lacks files:write \(without it, Askwatch can’t attach postmortems as files\)\. /,
    ),
  });
});

test('channels: not in it, private, archived, unknown, and what is no channel', async () => {
  const slack = await startSlack();
  slack.addChannel({ id: 'C00AWAY', member: false });
  slack.addChannel({ id: 'C00HIDDEN', kind: 'private', member: true });
  slack.addChannel({
    id: 'C00OLD',
    archived: true,
    messages: [{ ts: '1.0', text: 'archived', edits: 0, subtype: 'channel_archive' }],
  });
  slack.scopes.delete('groups:history');
  const channels = ['C00AWAY', 'C00HIDDEN', 'C00OLD', 'C00NONE', 'general'];
  const found = await examine(slack, { channels });
  const text = (channel: string) => found.get(`Slack ${channel}`)?.text;
  expect(text('C00AWAY')).toContain('/invite @Askwatch');
  expect(text('C00HIDDEN')).toContain('the scope groups:history');
  expect(text('C00OLD')).toMatch(/archived.*ALERT_CHANNELS/);
  expect(text('C00NONE')).toContain('The channel doesn’t exist');
  expect(text('general')).toContain('isn’t a channel id');
  for (const channel of channels) expect(found.get(`Slack ${channel}`)?.level).toBe('problem');
});

test('tokens of another kind, and one that lacks connections:write', async () => {
  const slack = await startSlack();
  const swapped = await examine(slack, { botToken: slack.appToken, appToken: slack.botToken });
  expect(swapped.get('Slack bot')?.text).toMatch(
    /SLACK_BOT_TOKEN: this is the wrong type of token/,
  );
  expect(swapped.get('Slack app token')?.text).toMatch(/SLACK_APP_TOKEN: this is the wrong type/);
  slack.fail('apps.connections.open', { kind: 'error', error: 'missing_scope' });
  const poor = await examine(slack);
  expect(poor.get('Slack app token')).toMatchObject({
    level: 'problem',
    text: expect.stringContaining('connections:write'),
  });
});

test('a limit is no problem, and a failure of Slack is none of the token', async () => {
  const slack = await startSlack();
  slack.fail('auth.test', { kind: 'limited', retryAfterSeconds: 30 });
  slack.fail('apps.connections.open', { kind: 'status', status: 503 });
  const found = await examine(slack);
  expect(found.get('Slack bot')).toMatchObject({ level: 'warning' });
  expect(found.get('Slack app token')?.text).toMatch(/did not answer at http.*http_503/);
});

test('over HTTP no connection is asked for', async () => {
  const slack = await startSlack();
  const { appToken: _, ...http } = { appToken: undefined };
  const { log } = recordingLog();
  const setup = { botToken: slack.botToken, apiUrl: slack.apiUrl, channels: [], usesGroups: false };
  const findings = await checkSlack({ ...setup, ...http, fetch: createProbe().fetch, log });
  expect(findings.at(-1)).toMatchObject({ check: 'Slack over HTTP', level: 'ok' });
  expect(slack.calls.map(({ method }) => method)).toEqual(['auth.test']);
});

test('the doctor tries only the app’s own token with several workspaces', async () => {
  const slack = await startSlack();
  const { log } = recordingLog();
  const setup = { appToken: slack.appToken, apiUrl: slack.apiUrl, channels: [], usesGroups: false };
  const findings = await checkSlack({ ...setup, fetch: createProbe().fetch, log });
  expect(findings.map(({ check, level }) => [check, level])).toEqual([
    ['Slack bot', 'ok'],
    ['Slack app token', 'ok'],
  ]);
  expect(slack.calls.map(({ method }) => method)).toEqual(['apps.connections.open']);
});
