import { z } from 'zod';
import type { PlatformTraits } from '../shared/platform-traits.ts';
import { inWords } from '../shared/text-format.ts';
import { taggedInWords } from './monitor-filter.ts';
import { clockWords, QuietHours, quietWords } from './quiet-hours.ts';

/** A user group or role that a new outage mentions. */
const Mention = z.object({
  id: z.string(),
  /** The name that people see, if the platform reports it. */
  name: z.string().optional(),
});
export type Mention = z.infer<typeof Mention>;

/** Escalation of outages that nobody acknowledges in time. */
export const Escalation = z.object({
  afterMs: z.number().positive(),
  /** A `placeKey`, and its name. If absent, the line is posted in the same channel. */
  place: z.string().optional(),
  placeName: z.string().optional(),
  /** A group, role or person. */
  mention: Mention.extend({ isPerson: z.boolean().optional() }).optional(),
});
export type Escalation = z.infer<typeof Escalation>;

/** The webhook that gets alerts while the channel can't be reached: a `placeKey`, and its address as shown. */
const Fallback = z.object({ place: z.string(), shown: z.string() });

export const ReportSchedule = z.object({
  every: z.enum(['daily', 'weekly', 'monthly']),
  /** Minute of the day in the zone, 0 to 1439. */
  minute: z.int().min(0).max(1439),
  /** IANA name. */
  zone: z.string(),
  /** Earlier reports aren't created. */
  setAtMs: z.number(),
  /** Only on monitors with any of them. */
  tags: z.array(z.string()).optional(),
});
export type ReportSchedule = z.infer<typeof ReportSchedule>;

export const Investigating = z.object({
  /** An outage that lasts so long is investigated. */
  afterMs: z.number().positive(),
  tokensPerDay: z.int().positive(),
  /** Only of monitors with any of them. */
  tags: z.array(z.string()).optional(),
});
export type Investigating = z.infer<typeof Investigating>;

export const ChannelSettings = z.object({
  /** No new messages in these hours. */
  quiet: QuietHours.optional(),
  /** Interval of reminders. */
  remindMs: z.number().positive().optional(),
  mention: Mention.optional(),
  escalation: Escalation.optional(),
  report: ReportSchedule.optional(),
  fallback: Fallback.optional(),
  investigate: Investigating.optional(),
});
export type ChannelSettings = z.infer<typeof ChannelSettings>;

/** `null` removes a setting. Absent settings stay. */
export type SettingChanges<Settings> = {
  [Name in keyof Settings]?: NonNullable<Settings[Name]> | null;
};
export type SettingsChange = SettingChanges<ChannelSettings>;

export function changedSettings<Settings extends object>(
  current: Settings | undefined,
  change: SettingChanges<Settings>,
): Settings {
  const all = Object.entries({ ...current, ...change });
  return Object.fromEntries(all.filter(([, value]) => value !== null)) as Settings;
}

export function settingsInSentences({
  quiet,
  remindMs,
  mention,
  escalation,
  report,
  fallback,
  investigate,
}: ChannelSettings): string[] {
  return [
    quiet &&
      `Quiet hours are ${quietWords(quiet)} (${quiet.zone}): new alerts are held and summed up in one message afterwards.`,
    remindMs !== undefined &&
      `Unacknowledged outages are repeated every ${everyInWords(remindMs)}.`,
    mention && `A new outage mentions ${mentionInWords(mention)}.`,
    escalation && `${escalationInWords(escalation)}.`,
    fallback && `Alerts that can’t be posted here for 2 minutes are sent to ${fallback.shown}.`,
    investigate && `${investigatingInWords(investigate)}.`,
    report && `A report is posted ${scheduleInWords(report)}.`,
  ].filter((sentence) => typeof sentence === 'string');
}

const REPORT_DAYS = {
  daily: 'every day',
  weekly: 'every Monday',
  monthly: 'on the first of every month',
};

/** `every Monday at 09:00 (Europe/Berlin) for monitors tagged eu`. */
export const scheduleInWords = ({ every, minute, zone, tags }: ReportSchedule) =>
  `${REPORT_DAYS[every]} at ${clockWords(minute)} (${zone})${tags ? ` for monitors${taggedInWords(tags)}` : ''}`;

/** Drops the 1: `hour`, `4 hours`, `1 hour 30 minutes`. */
const everyInWords = (ms: number) => inWords(ms).replace(/^1 (\w+)$/, '$1');

/** `An outage that nobody acknowledges within 10 minutes is posted in #oncall and mentions @Ada` */
export function escalationInWords({ afterMs, place, placeName, mention }: Escalation): string {
  const who = mention ? mentionInWords(mention) : undefined;
  const where = place === undefined ? undefined : (placeName ?? place);
  const what =
    where === undefined
      ? `mentions ${who} under its message`
      : `is posted in ${where}${who === undefined ? '' : ` and mentions ${who}`}`;
  return `An outage that nobody acknowledges within ${inWords(afterMs)} ${what}`;
}

/** `Outages of monitors tagged eu that last 1 minute are investigated, with up to 50,000 tokens a day` */
export const investigatingInWords = ({ afterMs, tokensPerDay, tags }: Investigating) =>
  `Outages${tags ? ` of monitors${taggedInWords(tags)}` : ''} that last ${inWords(afterMs)} are investigated, with up to ${tokensPerDay.toLocaleString('en')} tokens a day`;

const mentionInWords = ({ id, name, isPerson }: Mention & { isPerson?: boolean }) =>
  name ?? `${isPerson ? 'the person' : 'the group'} with id ${id}`;

/** `undefined` if the text is no mention. Pure. */
export function readMention(
  text: string,
  { pattern }: NonNullable<PlatformTraits['mention']>,
): Mention | undefined {
  const { id, name } = pattern.exec(text)?.groups ?? {};
  if (id === undefined) return undefined;
  return { id, ...(name !== undefined && { name: `@${name.replace(/^@/, '')}` }) };
}
