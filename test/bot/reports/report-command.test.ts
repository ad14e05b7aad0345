import { expect, onTestFinished, test, vi } from 'vitest';
import { NOW_MS } from '../../../evals/week/planned-monitor.ts';
import { type Person, type Place, placeKey } from '../../../src/bot/shared/place.ts';
import { startMeasuredService } from '../../helpers/bot/measured-service.ts';
import { cardOf, startTestBot, textOf } from '../../helpers/bot.ts';

const SLACK: Place = { platform: 'slack', channel: 'C1' };
const manager: Person = { id: 'U1', name: 'Ada', mayManage: async () => true };
const member: Person = { id: 'U2', name: 'Bob', mayManage: async () => false };

/** A bot in a channel; `stored` reads the channel's schedule. */
async function openChannel(settings = {}, watched?: { url: string; key: string }) {
  const { say, provider, service, channelSettings } = await startTestBot({ settings, watched });
  return {
    provider,
    service,
    async say(line: string, person = manager) {
      const reply = await say(line, { place: SLACK, person });
      return { text: textOf(cardOf(reply)), isPrivate: reply.kind === 'card' && reply.private };
    },
    stored: async () => (await channelSettings.settingsOf(placeKey(SLACK))).report,
  };
}

test('/monitor report turns reports on, shows the schedule and turns them off', async () => {
  const { say, stored } = await openChannel();
  const beganAtMs = Date.now();
  expect((await say('/monitor report')).text).toContain('Reports are off in this channel');
  await say('/monitor alerts on');
  const on = await say('/monitor report on weekly europe/berlin 08:30');
  expect(on).toMatchObject({ isPrivate: false });
  expect(on.text).toContain('Reports are posted here every Monday at 08:30 (Europe/Berlin)');
  expect(on.text).not.toContain('gets no alerts');
  expect(await stored()).toEqual({
    every: 'weekly',
    minute: 510,
    zone: 'Europe/Berlin',
    setAtMs: expect.any(Number),
  });
  expect((await stored())?.setAtMs).toBeGreaterThanOrEqual(beganAtMs);
  const bare = await say('/monitor report', member);
  expect(bare).toMatchObject({ isPrivate: true });
  expect(bare.text).toMatch(/The next one is posted \d{4}-\d\d-\d\d 08:30 \(Europe\/Berlin\)/);
  expect((await say('/monitor alerts on remind=4h')).text).toContain(
    'A report is posted every Monday at 08:30 (Europe/Berlin).',
  );
  const off = await say('/monitor report off');
  expect(off.text).toContain('They were posted every Monday at 08:30 (Europe/Berlin).');
  expect(await stored()).toBeUndefined();
});

test('/monitor report keeps unnamed settings, and the time of a schedule that stays the same', async () => {
  const { say, stored } = await openChannel();
  await say('/monitor report on monthly zone=America/New_York time=10:15');
  const first = await stored();
  await say('/monitor report on');
  expect(await stored()).toEqual(first);
  await say('/monitor report on daily');
  expect(await stored()).toMatchObject({ every: 'daily', zone: 'America/New_York', minute: 615 });
  await say('/monitor report on 00:00');
  expect(await stored()).toMatchObject({ every: 'daily', zone: 'America/New_York', minute: 0 });
});

test('/monitor report covers only monitors with the tags of the schedule, or of the line', async () => {
  const service = await startMeasuredService('Shop', 'Blog', 'Mail');
  for (const [at, tags] of [['eu'], ['us'], ['eu', 'us']].entries()) {
    Object.assign(service.monitors[at] ?? {}, { tags });
  }
  const { say, stored } = await openChannel({}, service);
  await say('/monitor alerts on');
  const on = await say('/monitor report on daily tags=EU');
  expect(on.text).toContain('every day at 09:00 (UTC) for monitors tagged eu');
  expect(await stored()).toMatchObject({ tags: ['eu'] });
  const eu = await say('/monitor report now');
  expect(eu.text).toContain('Daily report for monitors tagged eu: 100 % up');
  expect(eu.text).toContain('Monitors: 2');
  expect((await say('/monitor report now tags=eu,us')).text).toContain('Monitors: 3');
  await say('/monitor report on daily 08:30');
  expect(await stored()).toMatchObject({ minute: 510, tags: ['eu'] });
  const unknown = await say('/monitor report on daily tags=asia');
  expect(unknown.text).toContain('No monitor is tagged asia. Tags: eu, us.');
  await say('/monitor alerts off');
  expect((await say('/monitor report now')).text).toContain('/monitor alerts on tags=eu');
});

test('/monitor report uses the zone of the quiet hours, else UTC, and says if the channel gets no alerts', async () => {
  const { say, stored } = await openChannel();
  expect((await say('/monitor report on')).text).toContain('gets no alerts yet');
  expect(await stored()).toMatchObject({ every: 'weekly', minute: 540, zone: 'UTC' });
  await say('/monitor report off');
  await say('/monitor alerts on quiet=22-7 zone=Asia/Kolkata');
  await say('/monitor report on daily');
  expect(await stored()).toMatchObject({ every: 'daily', zone: 'Asia/Kolkata' });
});

test('/monitor report knows a channel that a monitor names', async () => {
  const { say, service } = await openChannel();
  service.add({ name: 'Shop', channels: [placeKey(SLACK)] });
  expect((await say('/monitor report on')).text).not.toContain('gets no alerts');
});

test('/monitor report knows a channel that the operator sends every alert', async () => {
  const { say } = await openChannel({ alertPlaces: [SLACK] });
  expect((await say('/monitor report on')).text).not.toContain('gets no alerts');
});

test.each([
  ['on zone=Mars/Olympus', 'Unknown time zone “Mars/Olympus”.'],
  ['on hourly', "I didn't understand “hourly”. Choose daily, weekly or monthly"],
  ['on +02:00', 'Unknown time zone “+02:00”.'],
  ['on time=25:00', "I didn't understand “25:00”. Use a 24-hour time such as 08:30."],
  ['on time=9', "I didn't understand “9”"],
  ['on UTC Europe/Berlin', 'Use one time zone and one time'],
  ['weekly', 'These settings only work with “on”'],
  ['off daily', 'These settings only work with “on”'],
  ['on every=hourly', '“every” must be one of daily, weekly, monthly, not “hourly”.'],
])('refuses with nothing changed: %s', async (words, sentence) => {
  const { say, stored } = await openChannel();
  await say('/monitor report on daily UTC');
  const before = await stored();
  expect((await say(`/monitor report ${words}`)).text).toContain(sentence);
  expect(await stored()).toEqual(before);
});

test('/monitor report now shows everyone a report up to this moment with a model’s sentences', async () => {
  const service = await startMeasuredService('Intranet');
  vi.useFakeTimers({ toFake: ['Date'], now: NOW_MS });
  onTestFinished(() => void vi.useRealTimers());
  const { say, stored, provider } = await openChannel({}, service);
  provider.answerWith('Look at Intranet first. It was down the longest.');
  expect((await say('/monitor report now')).text).toContain('nothing to report');
  await say('/monitor alerts on');
  const week = await say('/monitor report now', member);
  expect(week).toMatchObject({ isPrivate: false });
  expect(week.text).toContain('Weekly report: 100 % up\nLook at Intranet first.');
  expect(week.text).toContain('Time: 2026-11-19 12:00 to 2026-11-26 12:00 (UTC)');
  expect(week.text).toContain('Summary by test-model');
  const day = await say('/monitor report now daily Asia/Tokyo');
  expect(day.text).toContain('Time: 2026-11-25 21:00 to 2026-11-26 21:00 (Asia/Tokyo)');
  await say('/monitor report on monthly America/New_York');
  const month = await say('/monitor report now');
  expect(month.text).toContain('Time: 2026-10-27 08:00 to 2026-11-26 07:00 (America/New_York)');
  expect((await say('/monitor report now time=09:00')).text).toContain(
    '“time” only works with “on”',
  );
  expect(await stored()).toMatchObject({ every: 'monthly', setAtMs: NOW_MS });
  expect((await say('/askwatch usage')).text).toContain('Reports');
});

test('/monitor report now says if the service keeps no history', async () => {
  const { say } = await openChannel();
  await say('/monitor alerts on');
  expect((await say('/monitor report now')).text).toContain('does not offer');
});

test('/monitor report lets only people who can manage the channel change the schedule', async () => {
  const { say, stored } = await openChannel();
  expect((await say('/monitor report on', member)).text).toContain('Only people who can manage');
  await say('/monitor report on');
  expect((await say('/monitor report off', member)).text).toContain('Only people who can manage');
  expect(await stored()).toBeDefined();
});

test('/monitor report keeps the schedule if alerts are turned off', async () => {
  const { say, stored } = await openChannel();
  await say('/monitor alerts on');
  await say('/monitor report on');
  await say('/monitor alerts off');
  expect(await stored()).toBeDefined();
});
