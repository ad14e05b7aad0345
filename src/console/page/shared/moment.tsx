import { splitInstants } from '../../shared/from-bot.ts';

const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(undefined, options);

const clock = format({ timeStyle: 'short' });
const clockToTheSecond = format({ timeStyle: 'medium' });
const dated = format({ dateStyle: 'medium', timeStyle: 'short' });
const datedToTheSecond = format({ dateStyle: 'medium', timeStyle: 'medium' });
const full = format({ dateStyle: 'full', timeStyle: 'medium' });
const day = format({ weekday: 'long', day: 'numeric', month: 'long' });

const DAY_MS = 86_400_000;

/** A time in the reader's zone, with the date unless it's today. */
export function Moment({ atMs, seconds = false }: { atMs: number; seconds?: boolean }) {
  const date = new Date(atMs);
  // A service may send any number, also one that isn't a time.
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

/** A time of day, for messages below the name of their day. */
export function Clock({ atMs }: { atMs: number }) {
  const date = new Date(atMs);
  return (
    <time dateTime={date.toISOString()} title={full.format(date)}>
      {clock.format(date)}
    </time>
  );
}

export function dayName(atMs: number, nowMs: number = Date.now()): string {
  const name = day.format(atMs);
  if (name === day.format(nowMs)) return 'Today';
  if (name === day.format(nowMs - DAY_MS)) return 'Yesterday';
  return name;
}
