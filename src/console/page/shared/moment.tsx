import { splitInstants } from '../../shared/from-bot.ts';

const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(undefined, options);

const clock = format({ timeStyle: 'short' });
const clockToTheSecond = format({ timeStyle: 'medium' });
const dated = format({ dateStyle: 'medium', timeStyle: 'short' });
const datedToTheSecond = format({ dateStyle: 'medium', timeStyle: 'medium' });
const full = format({ dateStyle: 'full', timeStyle: 'medium' });
const day = format({ weekday: 'long', day: 'numeric', month: 'long' });

const DAY_MS = 86_400_000;

/** A moment in the reader's own time zone: the clock, and the date when it was not today. */
export function Moment({ atMs, seconds = false }: { atMs: number; seconds?: boolean }) {
  const date = new Date(atMs);
  // A service may send any number; one that is no time is shown as it came.
  if (Number.isNaN(date.getTime())) return <span>{String(atMs)}</span>;
  const today = dayName(atMs) === 'Today';
  return (
    <time dateTime={date.toISOString()} title={full.format(date)}>
      {formatFor({ today, seconds }).format(date)}
    </time>
  );
}

function formatFor({ today, seconds }: { today: boolean; seconds: boolean }) {
  if (seconds) return today ? clockToTheSecond : datedToTheSecond;
  return today ? clock : dated;
}

/** A text with the moments that it names drawn by the reader's clock. */
export function TextWithMoments({ text }: { text: string }) {
  return (
    <>
      {splitInstants(text).map((part, index) =>
        typeof part === 'string' ? (
          part
        ) : part.hasDate ? (
          <Moment key={index} atMs={part.atMs} seconds={part.hasSeconds} />
        ) : (
          <Clock key={index} atMs={part.atMs} />
        ),
      )}
    </>
  );
}

/** Only the clock, for messages that stand under the name of their day. */
export function Clock({ atMs }: { atMs: number }) {
  const date = new Date(atMs);
  return (
    <time dateTime={date.toISOString()} title={full.format(date)}>
      {clock.format(date)}
    </time>
  );
}

/** The day of a moment, as people call it. */
export function dayName(atMs: number, nowMs: number = Date.now()): string {
  const name = day.format(atMs);
  if (name === day.format(nowMs)) return 'Today';
  if (name === day.format(nowMs - DAY_MS)) return 'Yesterday';
  return name;
}
