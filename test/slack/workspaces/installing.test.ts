import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { openBrowser, type Page } from '../../fakes/slack/browser.ts';
import { CHANNEL } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { ALPHA, BETA, runTeams } from '../../helpers/slack/running-teams.ts';
import { folderOfFiles, storedText } from '../../helpers/test-store.ts';

/** No script runs, and nobody else sees the code in the address. */
function expectSafe({ headers, text }: Page) {
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(text).not.toMatch(/<script|<img|<b>| at .*\(.*\.[jt]s:|xoxb-/);
}

describe.each(['http', 'socket'] as const)('over %s', (mode) => {
  test('a workspace installs the app and is answered at once', async () => {
    const { teams, url, install, bot } = await runTeams({ mode });
    const page = await openBrowser().open(`${url}/slack/install`);
    expectSafe(page);
    expect(page.status).toBe(200);
    expect(page.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^askwatch-slack-install=.+; Secure; HttpOnly; Path=\/; Max-Age=600$/),
    ]);
    const asked = new URL(page.link).searchParams;
    expect(asked.get('scope')?.split(',')).toContain('chat:write');
    expect(asked.has('redirect_uri')).toBe(false);

    const done = await install(ALPHA);
    expectSafe(done);
    expect(done.status).toBe(200);
    expect(done.text).toContain('&lt;b&gt;T00ALPHA&lt;/b&gt; &amp; &quot;Co&quot;');
    expect(done.text).toContain('slack:T00ALPHA/C0123456789');
    expect(new URL(done.link).searchParams.get('team')).toBe(ALPHA);
    expect(teams.exchanges).toEqual([{ code: expect.any(String), redirectUri: null }]);

    bot.provider.answerWith('Hello there.');
    const alpha = teams.team(ALPHA);
    await alpha.slash('/ask', 'are you there?');
    await eventually(() => {
      const [root] = alpha.messages(CHANNEL);
      const texts = alpha.thread(CHANNEL, root?.ts ?? '').map((reply) => JSON.stringify(reply));
      return texts.some((text) => text.includes('Hello there.'));
    });
  });
});

describe('a page that Slack sends somebody back to', () => {
  test('says that nothing changed when they cancelled', async () => {
    const { url, teams } = await runTeams();
    const browser = openBrowser();
    const begun = await browser.open(`${url}/slack/install`);
    const state = new URL(begun.link).searchParams.get('state');
    const page = await browser.open(`${teams.redirectUrl}?error=access_denied&state=${state}`);
    expectSafe(page);
    expect(page.status).toBe(200);
    expect(page.text).toContain('You cancelled the installation');
    expect(page.link).toBe('/slack/install');
    expect(teams.exchanges).toEqual([]);
  });

  test('takes no state of another browser, none that was forged, and none twice', async () => {
    const { url, teams } = await runTeams();
    const browser = openBrowser();
    const { link } = await browser.open(`${url}/slack/install`);
    const back = () => teams.consent(link, { team: ALPHA });

    const stranger = await openBrowser().open(back());
    expect(stranger.status).toBe(400);
    expect(stranger.text).toContain('Start again');
    expectSafe(stranger);

    const [until, random, signature = ''] =
      new URL(link).searchParams.get('state')?.split('.') ?? [];
    const longer = (Number.parseInt(until ?? '', 36) + 3_600_000).toString(36);
    const other = signature.startsWith('A') ? 'B' : 'A';
    for (const forged of [
      `${longer}.${random}.${signature}`,
      `${until}.${random}.${other}${signature.slice(1)}`,
      `${until}.${random}.`,
      `${until}.${random}`,
      'x',
    ]) {
      const forger = openBrowser();
      forger.cookies.set('askwatch-slack-install', forged);
      const page = await forger.open(`${teams.redirectUrl}?code=1&state=${forged}`);
      expect([page.status, forged]).toEqual([400, forged]);
    }
    expect(teams.exchanges).toEqual([]);

    const cookie = new Map(browser.cookies);
    expect((await browser.open(back())).status).toBe(200);
    // Taken away from the browser, and good for nobody who kept it.
    expect(browser.cookies.size).toBe(0);
    for (const [name, value] of cookie) browser.cookies.set(name, value);
    expect((await browser.open(back())).status).toBe(400);
    expect(teams.exchanges).toHaveLength(1);
  });

  test('takes no state that is older than ten minutes', async () => {
    const { url, teams } = await runTeams();
    const browser = openBrowser();
    const { link } = await browser.open(`${url}/slack/install`);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 601_000 });
    try {
      const page = await browser.open(teams.consent(link, { team: ALPHA }));
      expect(page.status).toBe(400);
      expect(page.text).toContain('ten minutes');
    } finally {
      vi.useRealTimers();
    }
    expect(teams.exchanges).toEqual([]);
  });

  test.each([
    ['', /didn’t approve the installation/],
    ['?code=', /didn’t approve the installation/],
    ['?error=invalid_scope&error_description=<script>alert(1)</script>', /didn’t approve/],
    ['?code=1', /Start again/],
    ['?code="><script>alert(1)</script>&state="><script>', /Start again/],
    [`?code=1&state=${'x'.repeat(5_000)}`, /Start again/],
    ['?code=1&code=2&state=%00%ff', /Start again/],
    ['?error[]=access_denied&__proto__=1', /didn’t approve/],
  ])('says nothing of a hostile query again: %s', async (query, sentence) => {
    const { url, teams, lines } = await runTeams();
    const browser = openBrowser();
    await browser.open(`${url}/slack/install`);
    const page = await browser.open(`${url}/slack/oauth_redirect${query}`);
    expect(page.status).toBe(400);
    expectSafe(page);
    expect(page.text).toMatch(sentence);
    expect(page.text).not.toMatch(/alert|xxxxx/);
    expect(teams.exchanges).toEqual([]);
    // Anyone can cause these.
    expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  test.each([
    ['invalid_code', /Start again/],
    ['bad_client_secret', /SLACK_CLIENT_SECRET/],
    ['invalid_client_id', /SLACK_CLIENT_ID/],
    ['bad_redirect_uri', /redirect URL/],
    ['internal_error', /in a minute/],
  ])('says what to do when Slack refuses with %s', async (error, sentence) => {
    const { teams, install, lines, fatal } = await runTeams();
    teams.failExchange(error);
    const page = await install(ALPHA);
    expect(page.status).toBe(502);
    expect(page.text).toMatch(sentence);
    expectSafe(page);
    expect(lines.filter(({ reason }) => reason === error)).toHaveLength(1);
    expect(fatal).toEqual([]);
    expect((await install(ALPHA)).status).toBe(200);
  });

  test.each([
    ['a whole organization', { enterprise: 'unnamed' as const }, /one workspace/],
    ['a whole organization, named', { enterprise: 'named' as const }, /one workspace/],
    ['tokens that end', { rotation: true }, /rotat/],
  ])('refuses an installation of %s', async (_what, consent, sentence) => {
    const { teams, install, lines } = await runTeams();
    const page = await install(ALPHA, consent);
    expect(page.status).toBe(400);
    expect(page.text).toMatch(sentence);
    expectSafe(page);
    expect((await teams.team(ALPHA).slash('/ask', 'hello')).payload).toMatchObject({
      text: expect.stringContaining('isn’t installed'),
    });
    expect(JSON.stringify(lines)).not.toContain('xoxb-');
  });

  test('says that nothing could be stored, and does not speak with what would be lost', async () => {
    const folder = await folderOfFiles();
    const { teams, install, lines } = await runTeams({ folder });
    const place = join(folder, 'slack-installations');
    await rm(place, { recursive: true, force: true });
    await writeFile(place, 'no folder');
    const page = await install(ALPHA);
    expect(page.status).toBe(500);
    expect(page.text).toContain('couldn’t save the installation');
    expectSafe(page);
    expect(
      lines.filter(({ msg }) => /could not store an installation/.test(String(msg))),
    ).toHaveLength(1);
    expect((await teams.team(ALPHA).slash('/ask', 'hello')).payload).toMatchObject({
      text: expect.stringContaining('isn’t installed'),
    });
    await rm(place);
    await mkdir(place);
    expect((await install(ALPHA)).status).toBe(200);
  });
});

test('no token, secret, state or code is in the log or in clear in the store', async () => {
  const { teams, url, install, folder, lines, stop } = await runTeams();
  const browser = openBrowser();
  const { link } = await browser.open(`${url}/slack/install`);
  const back = new URL(teams.consent(link, { team: ALPHA }));
  await browser.open(back.href);
  teams.failExchange('invalid_code');
  await install(BETA);
  await stop();
  const stored = await storedText(folder);
  expect(stored).toContain('"sealed"');
  const { botToken } = teams.team(ALPHA);
  for (const secret of [botToken, teams.clientSecret]) {
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain(Buffer.from(secret).toString('base64url').slice(2, -4));
  }
  const log = JSON.stringify(lines);
  const { code, state } = Object.fromEntries(back.searchParams) as Record<string, string>;
  for (const secret of [botToken, teams.clientSecret, code, state]) {
    expect(log).not.toContain(secret);
  }
});
