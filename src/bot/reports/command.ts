import { z } from 'zod';
import { type ReportSchedule, scheduleInWords } from '../channels/channel-settings.ts';
import { requireTags, tagsField } from '../channels/monitor-filter.ts';
import { readTimeOfDay, readZone, zoneIn } from '../channels/quiet-hours.ts';
import { type Call, command, optionalText } from '../commands/command.ts';
import { textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { toAsker, toEveryone } from '../shared/invocation.ts';
import { hasPlace, placeKey } from '../shared/place.ts';
import { mayManage } from '../shared/rights.ts';
import { shortened } from '../shared/text-format.ts';
import { reportsOf } from './reports.ts';
import { nextInWords, spanSoFar } from './schedule.ts';

/** Default time of reports. */
const STANDARD_MINUTE = 9 * 60;
const DAY_MINUTES = 24 * 60;

const input = z.object({
  switch: z
    .enum(['on', 'off', 'now'])
    .optional()
    .describe('on, off, or now for a report up to this moment; if omitted, shows the setting'),
  every: z
    .enum(['daily', 'weekly', 'monthly'])
    .optional()
    .describe('Covers the day, calendar week or month before; default: weekly'),
  zone: optionalText(
    60,
    'Time zone, such as Europe/Berlin; default: the time zone of the quiet hours, or UTC',
  ),
  time: optionalText(20, 'Time of day, such as 08:30; default: 09:00'),
  tags: tagsField,
});

/** Regular messages that sum up how the monitors of this channel did. */
export const monitorReport = command({
  name: 'monitor report',
  summary: 'Daily, weekly or monthly report on the monitors here: uptime, outages, slowest checks',
  group: 'alert',
  right: {
    ...mayManage('change its reports', 'place'),
    when: ({ switch: turned }) => turned === 'on' || turned === 'off',
  },
  input,
  wordsChoose: true,
  examples: [
    '/monitor report on weekly Europe/Berlin',
    '/monitor report on daily time=08:30 tags=shop,eu',
    '/monitor report now',
    '/monitor report off',
    '/monitor report',
  ],
  async run(asked, call) {
    const { channels, place } = call;
    if (asked.switch === 'on') return await turnOn(asked, call);
    if (asked.switch === 'now') return await reportNow(asked, call);
    refuseMore(asked);
    const now = (await channels.settingsOf(placeKey(place))).report;
    if (asked.switch === 'off') {
      await channels.change(place, { settings: { report: null } });
      const text = now ? `They were posted ${scheduleInWords(now)}.` : 'They were already off.';
      return toEveryone(textCard('good', 'Reports turned off', text));
    }
    if (now) return toAsker(scheduledCard('info', now));
    return toAsker(
      textCard(
        'info',
        'Reports are off in this channel',
        'Turn them on: /monitor report on weekly Europe/Berlin',
      ),
    );
  },
});

type ReportInput = z.output<typeof input>;

/** A report of the last day, week or month, up to now. */
async function reportNow(asked: ReportInput, call: Call) {
  const { channels, place } = call;
  if (asked.time !== undefined) {
    throw new CommandError(
      '“time” only works with “on”. A report with “now” covers the time up to this moment.',
    );
  }
  const { quiet, report } = await channels.settingsOf(placeKey(place));
  const zone = zoneAndMinute(asked).zone ?? report?.zone ?? quiet?.zone ?? 'UTC';
  const tags = await knownTags(asked, call);
  const span = spanSoFar(asked.every ?? report?.every ?? 'weekly', zone, Date.now());
  const { signal } = new AbortController();
  return toEveryone(
    await reportsOf(call).of(place, { ...span, tags: tags ?? report?.tags }, signal),
  );
}

/** Throws a `CommandError` for a tag that no monitor has. */
async function knownTags({ tags }: ReportInput, { monitoring }: Call) {
  if (tags) requireTags(tags, await monitoring.list());
  return tags;
}

function refuseMore({ every, zone, time, tags }: ReportInput) {
  if ([every, zone, time, tags].every((value) => value === undefined)) return;
  throw new CommandError('These settings only work with “on”: /monitor report on weekly UTC');
}

async function turnOn(asked: ReportInput, call: Call) {
  const { channels, place } = call;
  const { quiet, report: before } = await channels.settingsOf(placeKey(place));
  const { zone, minute } = zoneAndMinute(asked);
  const wanted = {
    every: asked.every ?? before?.every ?? 'weekly',
    zone: zone ?? before?.zone ?? quiet?.zone ?? 'UTC',
    minute: minute ?? before?.minute ?? STANDARD_MINUTE,
    tags: (await knownTags(asked, call)) ?? before?.tags,
  };
  // An unchanged schedule keeps its start, so that a report that is due now is still sent.
  const isSame = before && scheduleInWords(before) === scheduleInWords({ ...wanted, setAtMs: 0 });
  const report = isSame ? before : { ...wanted, setAtMs: Date.now() };
  await channels.change(place, { settings: { report } });
  const hasAlerts =
    hasPlace(call.settings.alertPlaces, place) ||
    (await channels.isSubscribed(place)) ||
    (await isInMonitors(call));
  const more = hasAlerts
    ? []
    : [
        'This channel gets no alerts yet, so its reports are empty. Turn alerts on: /monitor alerts on',
      ];
  return toEveryone(scheduledCard('good', report, more));
}

/** True if monitors from a file send alerts to the channel, or if the service doesn't answer. */
async function isInMonitors({ monitoring, place }: Call): Promise<boolean> {
  const key = placeKey(place);
  return await monitoring.list().then(
    (monitors) => monitors.some(({ channels }) => channels?.includes(key)),
    () => true,
  );
}

function scheduledCard(tone: 'good' | 'info', schedule: ReportSchedule, more: string[] = []) {
  return textCard(
    tone,
    `Reports are posted here ${scheduleInWords(schedule)}`,
    `The next one is posted ${nextInWords(schedule, Date.now())} and covers the monitors whose alerts this channel gets. It mentions nobody, and waits for the end of quiet hours.`,
    ...more,
  );
}

/** Reads both inputs together, because typed words are all in the first. */
function zoneAndMinute({ every, zone: zoneText = '', time: timeText = '' }: ReportInput) {
  const words = `${zoneText} ${timeText}`.split(/\s+/).filter((word) => word !== '');
  const times = words.filter((word) => /^\d/.test(word));
  const zones = words.filter((word) => !/^\d/.test(word));
  if (times.length > 1 || zones.length > 1) {
    throw new CommandError(
      'Use one time zone and one time: /monitor report on weekly Europe/Berlin 08:30',
    );
  }
  const [[time], [zone]] = [times, zones];
  const isWord = zone !== undefined && /^[a-z-]+$/i.test(zone) && readZone(zone) === undefined;
  if (isWord && every === undefined) {
    throw new CommandError(
      `I didn't understand “${shortened(zone, 60)}”. Choose daily, weekly or monthly, and a time zone: /monitor report on weekly Europe/Berlin`,
    );
  }
  const minute = time === undefined ? undefined : readTimeOfDay(time);
  if (time !== undefined && minute === undefined) {
    throw new CommandError(
      `I didn't understand “${shortened(time, 60)}”. Use a 24-hour time such as 08:30.`,
    );
  }
  return {
    minute: minute === undefined ? undefined : minute % DAY_MINUTES,
    zone: zone === undefined ? undefined : zoneIn(zone),
  };
}
