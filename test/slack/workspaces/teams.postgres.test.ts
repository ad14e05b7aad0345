import { describe, expect, test } from 'vitest';
import { openBrowser } from '../../fakes/slack/browser.ts';
import { CHANNEL } from '../../fakes/slack/slack.ts';
import { startSlackTeams } from '../../fakes/slack/teams.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { ALPHA, BETA, type RunningTeams, runTeams } from '../../helpers/slack/running-teams.ts';

/** Two processes of an app in several workspaces. */
async function runTwo() {
  const teams = await startSlackTeams([ALPHA, BETA]);
  const { open } = await testDatabase();
  const first = await runTeams({ teams, store: await open() });
  const second = await runTeams({ teams, store: await open() });
  return { teams, first, second };
}

/** Has a process receive what is said in a workspace. */
const hears = ({ teams, url }: RunningTeams) => teams.team(ALPHA).useHttp(`${url}/slack/events`);

describe.skipIf(!hasPostgres)('two processes of an app in several workspaces', () => {
  test('both know of an installation that began in one and ended in the other, which is good once', async () => {
    const { teams, first, second } = await runTwo();
    const browser = openBrowser();
    const { link } = await browser.open(`${first.url}/slack/install`);
    teams.redirectUrl = `${second.url}/slack/oauth_redirect`;
    const back = teams.consent(link, { team: ALPHA });
    expect((await browser.open(back)).status).toBe(200);

    const { link: used } = await browser.open(`${first.url}/slack/install`);
    // In another workspace: the first one's token stays as it is.
    const again = new URL(teams.consent(used, { team: BETA }));
    const cookies = new Map(browser.cookies);
    expect((await browser.open(again.href)).status).toBe(200);
    // The browser has what it had, and Slack gives another code for the same state.
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    const other = new URL(teams.consent(used, { team: BETA }));
    other.port = new URL(first.url).port;
    expect((await browser.open(other.href)).status).toBe(400);

    for (const process of [first, second]) {
      hears(process);
      await eventually(async () => {
        const { payload } = await teams.team(ALPHA).slash('/ask', 'are you there?');
        return !JSON.stringify(payload).includes('isn’t installed');
      });
      await eventually(() => process.bot.provider.calls.length === 1);
    }
  });

  test('neither speaks where the app was removed, whichever of them was told', async () => {
    const { teams, first, second } = await runTwo();
    expect((await second.install(ALPHA)).status).toBe(200);
    const channel = `${ALPHA}/${CHANNEL}`;
    const post = (process: RunningTeams) =>
      process.slack.post({
        ...{ channel, id: `alert-${Math.random()}`, attempted: false },
        card: { tone: 'good', title: 'Shop is up', parts: [] },
      });
    await eventually(() =>
      post(first).then(
        () => true,
        () => false,
      ),
    );
    hears(second);
    await teams.uninstall(ALPHA);
    await eventually(() =>
      first.lines.some(({ msg }) => String(msg).includes('reported by another process')),
    );
    for (const process of [first, second]) {
      await expect(post(process)).rejects.toThrow(/isn’t installed/);
    }
    // The first was refused nothing by Slack.
    expect(first.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });
});
