import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { CHANNEL } from '../fakes/slack/slack.ts';
import { examine, runDoctor, startEverything } from '../helpers/end-to-end/run-doctor.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test('all is well: one line a check, in an order that stays, and nothing is changed anywhere', async () => {
  const { slack, discord, provider, gateway, monitoring, env } = await startEverything();
  const folder = await temporaryFolder();
  const { code, output } = await runDoctor(env, { folder });
  const lines = output.split('\n').map((line) => line.split(/ {2,}/));
  expect(lines.slice(0, -3).map(([result, check]) => [result, check])).toEqual([
    ['RESULT', 'CHECK'],
    ['ok', 'Node.js'],
    ['ok', 'Settings'],
    ['ok', 'Data folder'],
    ['ok', 'Program'],
    ['ok', 'Address'],
    ['ok', 'Console'],
    ['ok', 'Model catalog'],
    ['ok', 'Model gateway'],
    ['ok', 'OpenAI'],
    ['ok', 'Monitoring service'],
    ['ok', 'Slack bot'],
    ['ok', 'Slack scopes'],
    ['ok', `Slack ${CHANNEL}`],
    ['ok', 'Slack app token'],
    ['ok', 'Discord bot'],
    ['ok', 'Discord intent'],
    ['ok', 'Discord shards'],
    ['ok', 'Discord server'],
    ['ok', `Discord ${discord.general.id}`],
    ['ok', 'Discord invite'],
    ['ok', 'Webhooks'],
    ['ok', 'Clock'],
  ]);
  expect(output).toContain('in sync');
  expect([code, output.trimEnd().split('\n').at(-1)]).toEqual([0, 'No problems found.']);

  expect(await readdir(folder)).toEqual([]);
  expect(slack.calls.map(({ method }) => method).sort()).toEqual([
    'apps.connections.open',
    'auth.test',
    'conversations.history',
  ]);
  expect(slack.sockets()).toBe(0);
  expect(discord.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  expect(discord.gateway.counts().identified).toBe(0);
  expect([provider, gateway].flatMap(({ calls }) => calls)).toEqual([]);
  expect(monitoring.requests.map(({ method }) => method)).toEqual(['GET']);
  expect([slack, provider, gateway, monitoring].flatMap(({ unhandled }) => unhandled)).toEqual([]);
});

test('tokens and keys that are refused', async () => {
  const { env } = await startEverything();
  const wrong = Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      /TOKEN|KEY/.test(name) ? `${value}-of-another` : value,
    ]),
  );
  const { code, findings, of } = await examine(wrong);
  expect(code).toBe(1);
  for (const [check, setting] of [
    ['Slack bot', 'SLACK_BOT_TOKEN'],
    ['Slack app token', 'SLACK_APP_TOKEN'],
    ['Discord bot', 'DISCORD_TOKEN'],
    ['Model gateway', 'GATEWAY_API_KEY'],
    ['Monitoring service', 'MONITORING_API_KEY'],
    ['OpenAI', 'OPENAI_API_KEY'],
  ] as const) {
    expect(of(check), check).toMatchObject([
      { level: 'problem', text: expect.stringContaining(setting) },
    ]);
  }
  expect(findings.filter(({ level }) => level === 'problem')).toHaveLength(6);
});
