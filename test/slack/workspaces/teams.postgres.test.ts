import { describe, expect, onTestFinished, test } from 'vitest';
import { slackInstallations, slackInstallStates } from '../../../src/app/platforms/slack.ts';
import { createSlack } from '../../../src/slack/slack.ts';
import { CHANNEL } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { ALPHA, runTeams } from '../../helpers/slack/running-teams.ts';

describe.skipIf(!hasPostgres)('during a hand-over', () => {
  test('a successor learns which workspaces install and remove the app through the process before', async () => {
    const { open } = await testDatabase();
    const { teams, bot, install } = await runTeams({ store: await open() });
    const store = await open();
    const { log, lines } = recordingLog();
    const { clientId, clientSecret, signingSecret, apiUrl } = teams;
    const successor = await createSlack({
      install: {
        ...{ clientId, clientSecret },
        installations: store.collection(slackInstallations),
        usedStates: store.claims(slackInstallStates),
      },
      ...{ signingSecret, apiUrl, log },
      isHeld: () => false,
      onFatal() {},
    });
    onTestFinished(() => successor.stop());
    await successor.start(bot.bot);

    /** Why the successor can't post yet, or any more. */
    const refusal = () =>
      successor
        .post({
          ...{ channel: `${ALPHA}/${CHANNEL}`, id: 'alert-1', attempted: false },
          card: { tone: 'good', title: 'Shop is up', parts: [] },
        })
        .then(String, String);
    expect(await refusal()).toMatch(/isn’t installed/);
    expect((await install(ALPHA)).status).toBe(200);
    await eventually(async () => /handing over/.test(await refusal()));
    await teams.uninstall(ALPHA);
    await eventually(async () => /isn’t installed/.test(await refusal()));
    // Slack refused it nothing.
    expect(lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });
});
