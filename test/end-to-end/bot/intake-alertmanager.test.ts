import { expect, test } from 'vitest';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { expectNoBreach, shown, socketMode } from '../../helpers/end-to-end/slack-program.ts';
import { eventually } from '../../helpers/eventually.ts';
import { alertmanagerStorm, configOf, hookPath } from '../../helpers/intake/alertmanager-storm.ts';
import { hasAlertmanager, startAlertmanager } from '../../helpers/intake/real-alertmanager.ts';
import { hasBlackbox } from '../../helpers/intake/real-blackbox.ts';
import { long } from '../../helpers/long.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

/** A hundred alerts for ten minutes, or a few for half a minute. A message lists up to twenty alerts. */
const SIZE = long
  ? { teams: [20, ...Array<number>(16).fill(5)], lastsMs: 600_000, killEveryMs: 20_000 }
  : { teams: [4, 2, 2, 2], lastsMs: 24_000, killEveryMs: 12_000 };

test.skipIf(!hasAlertmanager || !hasBlackbox)(
  'killed with -9 again and again, it tells once and in order of what a real Alertmanager and blackbox_exporter report',
  { timeout: 1_800_000 },
  async () => {
    await alertmanagerStorm(await startSlack(), SIZE);
  },
);

test.skipIf(!hasAlertmanager)(
  'what somebody snoozes is silent in a real Alertmanager, until the snooze is ended',
  { timeout: 180_000 },
  async () => {
    const slack = await startSlack();
    const alertmanager = await startAlertmanager();
    const askwatch = await startAskwatch({
      dataDir: await temporaryFolder(),
      env: {
        ...socketMode(slack),
        ...{ WHO_MAY_MANAGE: 'everyone', ALERTMANAGER_URL: alertmanager.url },
      },
    });
    const url = askwatch.url + (await hookPath(slack, CHANNEL));
    await alertmanager.configure(configOf([{ name: 'db', url }]));
    const labels = { alertname: 'Disk of db-1 is full', team: 'db', mount: '/var = "x"' };
    const startsAt = new Date().toISOString();
    const endsAt = new Date(Date.now() + 600_000).toISOString();
    await alertmanager.tell([{ labels, startsAt, endsAt }]);
    const firing = () => slack.messages(CHANNEL).find(({ ts }) => textsOf(ts).includes('FIRING'));
    const textsOf = (ts: string) =>
      shown(slack)[slack.messages(CHANNEL).findIndex((message) => message.ts === ts)] ?? '';
    const { ts } = await eventually(() => firing() ?? false, { what: 'the alert to be told' });

    await slack.press('Snooze 1 h', { ts });
    const [silence] = await eventually(async () => {
      const silences = await alertmanager.silences();
      return silences.length > 0 && silences;
    });
    expect(silence?.state).toBe('active');
    expect(silence?.matchers.sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual(
      Object.entries(labels)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, value]) => ({ name, value, isRegex: false, isEqual: true })),
    );
    await eventually(() => /[Ss]ilence/.test(textsOf(ts)), { what: 'the card to say that' });

    await slack.press('End snooze', { ts });
    await eventually(async () => (await alertmanager.silences())[0]?.state === 'expired');
    expect(await askwatch.stop()).toBe(0);
    expectNoBreach(slack);
  },
);
