import { useId, useMemo, useState } from 'preact/hooks';
import { counted } from '../../shared/from-bot.ts';
import type { StatusDays } from '../../status/api-types.ts';
import { stepOfKey } from '../shared/stepping.ts';
import { barPaths, daysOf } from './days.ts';
import { daysText, dayText } from './text-format.ts';

/** A bar for each day. Mouse, touch or arrow keys read one of them in the line below. */
export function DayBars({ days: sent, name }: { days: StatusDays; name: string }) {
  const id = useId();
  const [shown, setShown] = useState<number>();
  const days = useMemo(() => daysOf(sent), [sent]);
  const paths = useMemo(() => barPaths(days), [days]);
  const last = days.length - 1;
  const at = Math.min(shown ?? last, last);
  const day = days[at];
  if (!day) return null;
  const pointed = ({ clientX, currentTarget }: PointerEvent & { currentTarget: Element }) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const share = width > 0 ? (clientX - left) / width : 0;
    setShown(Math.max(0, Math.min(last, Math.floor(share * days.length))));
  };
  return (
    <div class="days">
      <div
        class="bars"
        role="slider"
        tabIndex={0}
        aria-label={`Days of ${name}`}
        aria-describedby={`${id}-all`}
        aria-valuemin={1}
        aria-valuemax={days.length}
        aria-valuenow={at + 1}
        aria-valuetext={dayText(day)}
        onPointerMove={pointed}
        onPointerDown={pointed}
        onPointerLeave={() => setShown(undefined)}
        onFocus={() => setShown((before) => before ?? last)}
        onBlur={() => setShown(undefined)}
        onKeyDown={(event) => {
          const next = stepOfKey(event, at, last);
          if (next !== undefined) setShown(next);
        }}
      >
        <svg viewBox={`0 0 ${days.length} 1`} preserveAspectRatio="none" aria-hidden="true">
          {paths.map(({ kind, path }) => (
            <path key={kind} class={kind} d={path} />
          ))}
          {shown !== undefined && <rect class="pointed" x={at} y="0" width="1" height="1" />}
        </svg>
      </div>
      {shown === undefined ? (
        <p class="ends fine" aria-hidden="true">
          <span>{counted(days.length, 'day')} ago</span>
          <span>Today</span>
        </p>
      ) : (
        <Readout share={(at + 0.5) / days.length} text={dayText(day)} />
      )}
      <p class="unseen" id={`${id}-all`}>
        {daysText(days)}
      </p>
    </div>
  );
}

/** The text of a bar, as near to it as there is room. */
function Readout({ share, text }: { share: number; text: string }) {
  return (
    <p class="readout fine digits" aria-hidden="true">
      <span style={{ insetInlineStart: `${share * 100}%`, translate: `${-share * 100}% 0` }}>
        {text}
      </span>
    </p>
  );
}
