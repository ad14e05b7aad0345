import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake, USER } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { type Mode, WATCHING } from '../../helpers/slack/running-slack.ts';
import { ALPHA, BETA, type RunningTeams, runTeams } from '../../helpers/slack/running-teams.ts';
import { filesWith, folderOfFiles } from '../../helpers/test-store.ts';

const CARD: Card = { tone: 'bad', title: 'Shop is down', parts: [] };
const NOT_INSTALLED = { text: expect.stringContaining('isn’t installed in this workspace') };

const alert = (team: string, id = 'alert-1') => ({
  ...{ channel: `${team}/${CHANNEL}`, card: CARD, id, attempted: false },
});

/** Both workspaces with the app installed. */
async function bothInstalled(options: Parameters<typeof runTeams>[0] = {}) {
  const running = await runTeams(options);
  for (const team of [ALPHA, BETA]) expect((await running.install(team)).status).toBe(200);
  return { ...running, ...teamsOf(running) };
}

const teamsOf = ({ teams }: RunningTeams) => ({
  alpha: teams.team(ALPHA),
  beta: teams.team(BETA),
});

/** The finished answers of the thread that `/ask` opened last. */
async function answers(fake: SlackFake, count = 1): Promise<string[]> {
  return await eventually(() => {
    const ts = fake.messages(CHANNEL).at(-1)?.ts ?? '';
    const texts = fake.thread(CHANNEL, ts).map(shownText);
    return !/Thinking…|Writing…/.test(texts.at(-1) ?? 'Writing…') && texts.length >= count && texts;
  });
}

async function refusal(promise: Promise<unknown>): Promise<DeliveryError> {
  const error = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(DeliveryError);
  return error as DeliveryError;
}

const methods = ({ calls }: SlackFake) => calls.map(({ method }) => method);
const warned = ({ lines }: RunningTeams, text: string) =>
  lines.filter(({ level, msg }) => Number(level) >= 40 && String(msg).includes(text));

const BOTH: Mode[] = ['http', 'socket'];

describe.each(BOTH)('two workspaces over %s', (mode) => {
  test('are answered each in its own, in channels of one name', async () => {
    const { alpha, beta, bot } = await bothInstalled({ mode });
    bot.provider.answerWith('An answer.');
    await alpha.slash('/ask', 'asked in alpha');
    expect(await answers(alpha)).toHaveLength(1);
    expect(methods(beta)).toEqual(['auth.test']);
    await beta.slash('/ask', 'asked in beta');
    expect(await answers(beta)).toHaveLength(1);
    expect(alpha.messages(CHANNEL).map(shownText)).toEqual(['ada asks\nasked in alpha']);
    expect(beta.messages(CHANNEL).map(shownText)).toEqual(['ada asks\nasked in beta']);
    expect([...alpha.calls, ...beta.calls].filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
    expect([...alpha.unhandled, ...beta.unhandled]).toEqual([]);
  });
});

describe.each(long ? BOTH : BOTH.slice(0, 1))('two workspaces over %s', (mode) => {
  test('may write messages of one name, which are two conversations', async () => {
    const { alpha, beta, bot } = await bothInstalled({ mode });
    const ts = '1700000000.000001';
    for (const [fake, name] of [
      [alpha, 'alpha'],
      [beta, 'beta'],
    ] as const) {
      const text = `<@${fake.botUserId}> asked in ${name}`;
      fake.channel(CHANNEL).messages.push({ ts, user: USER, text, edits: 0 });
      await fake.event({ type: 'app_mention', user: USER, text, ts, channel: CHANNEL });
      await answers(fake);
    }
    beta.say('and then?', { threadTs: ts });
    await answers(beta, 3);
    const said: { content: string }[] = bot.provider.calls.at(-1)?.body.messages;
    const contents = said.map(({ content }) => content);
    expect(contents).toContain('asked in beta');
    expect(contents).not.toContain('asked in alpha');
    expect(alpha.thread(CHANNEL, ts)).toHaveLength(1);
  });

  test('get alerts each in its own, and a press in one shows in both', async () => {
    const { alpha, beta, bot } = await bothInstalled({
      mode,
      bot: {
        settings: {
          ...WATCHING,
          alertPlaces: [ALPHA, BETA].map((team) => ({
            ...{ platform: 'slack', channel: `${team}/${CHANNEL}` },
          })),
        },
      },
    });
    const shop = bot.service.add({ name: 'Shop' });
    const before = bot.service.requests.length;
    await eventually(() => bot.service.requests.length > before + 2);
    bot.service.setStatus(shop.id, 'DOWN');
    const shown = await Promise.all(
      [alpha, beta].map((fake) => eventually(() => fake.messages(CHANNEL)[0])),
    );
    await beta.press('Acknowledge');
    await eventually(() => shown.every((message) => shownText(message).includes('ada')));
    bot.service.setStatus(shop.id, 'UP');
    await eventually(() => shown.every((message) => shownText(message).includes('🟢')));
    for (const fake of [alpha, beta]) expect(fake.messages(CHANNEL)).toHaveLength(1);
  });

  test('a workspace that removes the app is left, and installs it again at once', async () => {
    const running = await bothInstalled({ mode });
    const { alpha, beta, slack, teams, install, fatal } = running;
    await teams.uninstall(ALPHA);
    await eventually(() => warned(running, 'removed Askwatch').length === 1);

    const gone = await refusal(slack.post(alert(ALPHA)));
    expect(gone).toMatchObject({ permanent: true });
    expect(gone.message).toMatch(/isn’t installed in the workspace T00ALPHA.*\/slack\/install/);
    const asked = () => methods(alpha).filter((method) => method !== 'auth.test').length;
    const before = asked();
    expect((await alpha.slash('/ask', 'anybody?')).payload).toMatchObject(NOT_INSTALLED);
    const acks = alpha.acks.length;
    alpha.mention('anybody?');
    await eventually(() => alpha.acks.length === acks + 2);
    expect(alpha.acks.filter(({ ms }) => ms === undefined)).toEqual([]);

    await slack.post(alert(BETA));
    expect(beta.messages(CHANNEL)).toHaveLength(1);
    expect(asked()).toBe(before);

    expect((await install(ALPHA)).status).toBe(200);
    await slack.post(alert(ALPHA));
    await alpha.slash('/ask', 'and now?');
    await answers(alpha);
    expect(fatal).toEqual([]);
  });
});
test('who manages one workspace does not manage the other', async () => {
  const { alpha, beta } = await bothInstalled();
  alpha.profiles.set(USER, { is_admin: true });
  for (const fake of [alpha, beta]) await fake.slash('/askwatch', 'prompt Answer in rhyme.');
  const said = (fake: SlackFake) =>
    [...fake.messages(CHANNEL).map(shownText), ...fake.whispers(CHANNEL)].join('\n');
  await eventually(() => said(alpha) !== '' && said(beta) !== '');
  expect(said(alpha)).toContain('Answer in rhyme.');
  expect(said(beta)).not.toContain('Answer in rhyme.');
});

test('the limits of one workspace, or its silence, do not slow the other', async () => {
  const { alpha, beta, slack, bot } = await bothInstalled();
  bot.provider.answerWith('An answer.');
  alpha.fail('chat.postMessage', { kind: 'limited', retryAfterSeconds: 600 });
  const limited = await refusal(slack.post(alert(ALPHA)));
  expect(limited.retryAfterMs).toBe(600_000);
  await slack.post(alert(BETA));
  await beta.slash('/ask', 'hello');
  expect((await answers(beta))[0]).toContain('An answer.');
  expect((await refusal(slack.post(alert(ALPHA, 'alert-2')))).retryAfterMs).toBeGreaterThan(0);
  expect(methods(alpha).filter((method) => method === 'chat.postMessage')).toHaveLength(1);

  alpha.fail('chat.update', { kind: 'hang' });
  let ended = false;
  const posted = { message: '1.1', thread: '1.1' };
  const hanging = refusal(slack.update(`${ALPHA}/${CHANNEL}`, posted, CARD)).then(() => {
    ended = true;
  });
  // The channel has heard enough for now.
  beta.clock.advance(60_000);
  for (const id of ['a', 'b', 'c']) await slack.post(alert(BETA, id));
  expect(ended).toBe(false);
  void hanging;
});

/** Asks and sets something in both workspaces, and tells in which folders something of one stands. */
async function bothLived(running: Awaited<ReturnType<typeof bothInstalled>>) {
  const { bot } = running;
  bot.provider.answerWith('An answer.');
  for (const [team, fake] of [
    [ALPHA, running.alpha],
    [BETA, running.beta],
  ] as const) {
    fake.profiles.set(USER, { is_admin: true });
    for (const n of [1, 2]) {
      await fake.slash('/askwatch', `prompt You are ${n} of ${team}`);
      await fake.slash('/ask', `asked in ${team}`);
      await eventually(() => {
        const roots = fake.messages(CHANNEL).map((one) => ({ ts: one.ts, text: shownText(one) }));
        const asked = roots.filter(({ text }) => text.includes(`asked in ${team}`));
        const texts = fake.thread(CHANNEL, asked[n - 1]?.ts ?? '').map(shownText);
        return texts.at(-1)?.includes('An answer.');
      });
    }
  }
  const foldersWith = async (team: string) => {
    const files = await filesWith(team, running.folder);
    return [...new Set(files.map((name) => name.split('/')[0]))].sort();
  };
  const all = [
    'answer-usage',
    'channel-asking',
    'conversations',
    'person-places',
    'slack-installations',
  ];
  for (const team of [ALPHA, BETA]) {
    await eventually(async () => {
      const folders = await foldersWith(team);
      return all.every((folder) => folders.includes(folder));
    });
  }
  return { foldersWith, all };
}

test('the token of an installation that another one replaced is in no file any more', async () => {
  const folder = await folderOfFiles();
  const { install } = await runTeams({ folder });
  await install(ALPHA);
  const [before] = await filesWith('sealed', folder);
  const sealed = await readFile(join(folder, before ?? ''), 'utf8');
  await install(ALPHA);
  await eventually(async () => (await filesWith('sealed', folder)).length === 2);
  expect(await filesWith(sealed, folder)).toEqual([]);
});

test('a workspace that removes the app is in no file any more, and another is', async () => {
  const running = await bothInstalled();
  const { foldersWith, all } = await bothLived(running);
  await running.teams.uninstall(ALPHA);
  await eventually(async () => (await foldersWith(ALPHA)).length === 0);
  expect(await foldersWith(BETA)).toEqual(expect.arrayContaining(all));
});

test('a workspace that removed the app while nobody listened is in no file any more', async () => {
  const running = await bothInstalled();
  const { foldersWith, all } = await bothLived(running);
  await running.stop();
  running.alpha.revoke('bot', 'account_inactive');
  const again = await runTeams({ teams: running.teams, folder: running.folder });
  await eventually(async () => (await foldersWith(ALPHA)).length === 0);
  expect(await foldersWith(BETA)).toEqual(expect.arrayContaining(all));
  expect(again.fatal).toEqual([]);
});

test('an answer that was being given in a workspace that left is forgotten once it ends', async () => {
  const running = await bothInstalled();
  const { foldersWith } = await bothLived(running);
  const { provider } = running.bot;
  provider.answerWith(['It ', 'grows.']);
  const release = provider.holdChunks(1);
  const asked = provider.calls.length;
  await running.alpha.slash('/ask', `what grows in ${ALPHA}?`);
  await eventually(() => provider.calls.length > asked);
  await running.teams.uninstall(ALPHA);
  // All of it goes at once but what the answer notes meanwhile.
  await eventually(async () => !(await foldersWith(ALPHA)).includes('conversations'));
  release();
  await running.stop();
  expect(await foldersWith(ALPHA)).toEqual([]);
});

test('a removal that Slack tells of late does not end what was installed since', async () => {
  const running = await bothInstalled();
  const { alpha, slack, install, lines } = running;
  alpha.revoke('bot', 'account_inactive');
  await install(ALPHA);
  await alpha.event({ type: 'app_uninstalled' });
  await alpha.event({ type: 'tokens_revoked', tokens: { bot: [alpha.botUserId] } });
  await eventually(
    () => lines.filter(({ msg }) => /has reinstalled it$/.test(String(msg))).length === 2,
  );
  await slack.post(alert(ALPHA));
  // The tokens of people are none of ours, even when ours is refused by now.
  alpha.revoke('bot', 'token_revoked');
  const asked = alpha.calls.length;
  await alpha.event({ type: 'tokens_revoked', tokens: { oauth: [USER] } });
  await alpha.event({ type: 'tokens_revoked', tokens: { oauth: [USER], bot: [] } });
  expect(alpha.calls).toHaveLength(asked);
  await alpha.event({ type: 'app_uninstalled' });
  await eventually(() => warned(running, 'removed Askwatch').length === 1);
});

test.each<[string, boolean]>([
  ['token_revoked', false],
  ...(long ? [['account_inactive', false] as [string, boolean]] : []),
  // An address that the app does not allow, as after a move of the server.
  ['invalid_auth', true],
])(
  'a token refused with %s ends its workspace alone; kept for the next start: %s',
  async (code, kept) => {
    const running = await bothInstalled();
    const { alpha, beta, slack, fatal, teams, folder } = running;
    alpha.revoke('bot', code);
    const refused = await refusal(slack.post(alert(ALPHA)));
    expect(refused).toMatchObject({ permanent: true });
    expect(refused.message).not.toContain('xoxb');
    const [line] = await eventually(() => {
      const found = warned(running, 'no longer accepts Askwatch in a workspace');
      return found.length > 0 && found;
    });
    expect(line).toMatchObject({ teamId: ALPHA, reason: code });
    expect(line?.msg).toContain('/slack/install');
    await eventually(async () => {
      const { payload } = await alpha.slash('/askwatch', 'help');
      return JSON.stringify(payload).includes('isn’t installed');
    });
    await slack.post(alert(BETA));
    expect(beta.messages(CHANNEL)).toHaveLength(1);
    expect(fatal).toEqual([]);
    expect(warned(running, 'no longer accepts')).toHaveLength(1);

    await running.stop();
    await runTeams({ teams, folder });
    const again = JSON.stringify((await alpha.slash('/askwatch', 'help')).payload);
    expect(!again.includes('isn’t installed')).toBe(kept);
  },
);
test('workspaces must reinstall the app after a changed client secret', async () => {
  const first = await bothInstalled();
  const { teams, folder, alpha } = first;
  const { clientSecret } = teams;
  await first.stop();

  teams.clientSecret = 'fake-client-secret-0002';
  const second = await runTeams({ teams, folder });
  expect(warned(second, 'SLACK_CLIENT_SECRET').map(({ teamId }) => teamId)).toEqual(
    expect.arrayContaining([ALPHA, BETA]),
  );
  expect((await alpha.slash('/ask', 'hello')).payload).toMatchObject(NOT_INSTALLED);
  expect(await refusal(second.slack.post(alert(ALPHA)))).toMatchObject({ permanent: true });
  expect((await second.install(ALPHA)).status).toBe(200);
  await second.slack.post(alert(ALPHA));
  expect(second.fatal).toEqual([]);
  await second.stop();

  teams.clientSecret = clientSecret;
  const third = await runTeams({ teams, folder });
  expect(warned(third, 'SLACK_CLIENT_SECRET').map(({ teamId }) => teamId)).toEqual([ALPHA]);
  await third.slack.post(alert(BETA));
});
test('a channel that is named without its workspace is answered with how to name it', async () => {
  const { slack } = await bothInstalled();
  const refused = await refusal(slack.post({ ...alert(ALPHA), channel: CHANNEL }));
  expect(refused).toMatchObject({ permanent: true });
  expect(refused.message).toContain(`slack:T0123/${CHANNEL}`);
});
