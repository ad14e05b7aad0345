import { z } from 'zod';
import type { PlatformTraits } from '../shared/platform-traits.ts';
import { inWords } from '../shared/text-format.ts';
import { clockWords, QuietHours, quietWords } from './quiet-hours.ts';

/** A user group or role that is called when an outage begins. */
const Mention = z.object({
  /** The platform's own. */
  id: z.string(),
  /** As people know it, where the platform tells. */
  name: z.string().optional(),
});
export type Mention = z.infer<typeof Mention>;

/** Who is told of an outage that nobody acknowledges in time. */
export const Escalation = z.object({
  afterMs: z.number().positive(),
  /** Where it is told, in its one-word form, and as people know that; where it was told first when absent. */
  place: z.string().optional(),
  placeName: z.string().optional(),
  /** Who is called there: a group or role, or a person. */
  mention: Mention.extend({ isPerson: z.boolean().optional() }).optional(),
});
export type Escalation = z.infer<typeof Escalation>;

/** When a channel is told how its monitors did. */
export const ReportSchedule = z.object({
  every: z.enum(['daily', 'weekly', 'monthly']),
  /** Of the day, by the clocks of the zone: 0 to 1439. */
  minute: z.int().min(0).max(1439),
  /** As IANA names it. */
  zone: z.string(),
  /** What was due before is not made. */
  setAtMs: z.number(),
});
export type ReportSchedule = z.infer<typeof ReportSchedule>;

/** How a channel is told of what it hears. */
export const ChannelSettings = z.object({
  /** When nothing new is posted there. */
  quiet: QuietHours.optional(),
  /** How often it is said that an outage goes on. */
  remindMs: z.number().positive().optional(),
  mention: Mention.optional(),
  escalation: Escalation.optional(),
  report: ReportSchedule.optional(),
});
export type ChannelSettings = z.infer<typeof ChannelSettings>;

/** What becomes of settings: those not named stay, `null` takes one back. */
export type Changes<Settings> = {
  [Name in keyof Settings]?: NonNullable<Settings[Name]> | null;
};
export type SettingsChange = Changes<ChannelSettings>;

/** The settings after a change. Pure. */
export function changedSettings<Settings extends object>(
  current: Settings | undefined,
  change: Changes<Settings>,
): Settings {
  const all = Object.entries({ ...current, ...change });
  return Object.fromEntries(all.filter(([, value]) => value !== null)) as Settings;
}

/** The settings in sentences; none when nothing is set. */
export function settingsInSentences({
  quiet,
  remindMs,
  mention,
  escalation,
  report,
}: ChannelSettings): string[] {
  return [
    ...(quiet
      ? [
          `Quiet hours are ${quietWords(quiet)} (${quiet.zone}): new alerts are held and summed up in one message afterwards.`,
        ]
      : []),
    ...(remindMs === undefined
      ? []
      : [`Unacknowledged outages are repeated every ${everyInWords(remindMs)}.`]),
    ...(mention ? [`A new outage mentions ${mentionInWords(mention)}.`] : []),
    ...(escalation ? [`${escalationInWords(escalation)}.`] : []),
    ...(report ? [`A report is posted ${scheduleInWords(report)}.`] : []),
  ];
}

const REPORT_DAYS = {
  daily: 'every day',
  weekly: 'every Monday',
  monthly: 'on the first of every month',
};

/** `every Monday at 09:00 (Europe/Berlin)`. */
export const scheduleInWords = ({ every, minute, zone }: ReportSchedule) =>
  `${REPORT_DAYS[every]} at ${clockWords(minute)} (${zone})`;

/** Lets tell that 60 minutes are an hour: `hour`, `4 hours`, `1 hour 30 minutes`. */
const everyInWords = (ms: number) => inWords(ms).replace(/^1 (\w+)$/, '$1');

/** `An outage that nobody acknowledges within 10 minutes is posted in #oncall and mentions @Ada`. */
export function escalationInWords({ afterMs, place, placeName, mention }: Escalation): string {
  const who = mention ? mentionInWords(mention) : undefined;
  const where = place === undefined ? undefined : (placeName ?? place);
  const what =
    where === undefined
      ? `mentions ${who} under its message`
      : `is posted in ${where}${who === undefined ? '' : ` and mentions ${who}`}`;
  return `An outage that nobody acknowledges within ${inWords(afterMs)} ${what}`;
}

const mentionInWords = ({ id, name, isPerson }: Mention & { isPerson?: boolean | undefined }) =>
  name ?? `${isPerson ? 'the person' : 'the group'} with id ${id}`;

/** The group or role that a text means on a platform; `undefined` when it means none. Pure. */
export function readMention(
  text: string,
  { pattern }: NonNullable<PlatformTraits['mention']>,
): Mention | undefined {
  const { id, name } = pattern.exec(text)?.groups ?? {};
  if (id === undefined) return undefined;
  return { id, ...(name !== undefined && { name: `@${name.replace(/^@/, '')}` }) };
}
