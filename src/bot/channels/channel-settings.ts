import { z } from 'zod';
import type { PlatformTraits } from '../shared/platform-traits.ts';
import { inWords } from '../shared/text-format.ts';
import { QuietHours, quietWords } from './quiet-hours.ts';

/** A user group or role that is called when an outage begins. */
const Mention = z.object({
  /** The platform's own. */
  id: z.string(),
  /** As people know it, where the platform tells. */
  name: z.string().optional(),
});
export type Mention = z.infer<typeof Mention>;

/** How a channel is told of what it hears. */
export const ChannelSettings = z.object({
  /** When nothing new is posted there. */
  quiet: QuietHours.optional(),
  /** How often it is said that an outage goes on. */
  remindMs: z.number().positive().optional(),
  mention: Mention.optional(),
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
export function settingsInSentences({ quiet, remindMs, mention }: ChannelSettings): string[] {
  return [
    ...(quiet
      ? [
          `Nothing new is posted from ${quietWords(quiet).replace('–', ' to ')} (${quiet.zone}); one message tells afterwards what happened.`,
        ]
      : []),
    ...(remindMs === undefined
      ? []
      : [
          `While an outage goes on and nobody has acknowledged it, a line says so every ${everyInWords(remindMs)}.`,
        ]),
    ...(mention ? [`A new outage mentions ${mentionInWords(mention)}.`] : []),
  ];
}

/** Lets tell that 60 minutes are an hour: `hour`, `4 hours`, `1 hour 30 minutes`. */
const everyInWords = (ms: number) => inWords(ms).replace(/^1 (\w+)$/, '$1');

const mentionInWords = ({ id, name }: Mention) => name ?? `the group with the id ${id}`;

const INTERVAL = /^(?:(\d{1,4}) ?h)? ?(?:(\d{1,4}) ?m(?:in)?)?$/i;
const MIN_REMIND_MS = 15 * 60_000;
const MAX_REMIND_MS = 24 * 3_600_000;

/** A time such as `4h`, `90m` or `1h30m`; `undefined` when it is none, or not between 15 minutes and a day. Pure. */
export function readInterval(text: string): number | undefined {
  const [, hours = '0', minutes = '0'] = INTERVAL.exec(text) ?? [];
  const ms = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return ms >= MIN_REMIND_MS && ms <= MAX_REMIND_MS ? ms : undefined;
}

/** The group or role that a text means on a platform; `undefined` when it means none. Pure. */
export function readMention(
  text: string,
  { pattern }: NonNullable<PlatformTraits['mention']>,
): Mention | undefined {
  const { id, name } = pattern.exec(text)?.groups ?? {};
  if (id === undefined) return undefined;
  return { id, ...(name !== undefined && { name: `@${name.replace(/^@/, '')}` }) };
}
