import { useId, useMemo, useState } from 'preact/hooks';
import type { StatusDetails } from '../../../status/api-types.ts';
import { useChart } from '../../charts/use-chart.ts';
import { stepOfKey } from '../../shared/stepping.ts';
import { formatMilliseconds } from '../text-format.ts';
import { columnsOf, type LatencyColumns, outagesOf, plotLatency } from './latency-plot.ts';

const HOUR_MS = 3_600_000;

const moment = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: 'numeric',
  minute: '2-digit',
});

/** Response times as a line with gaps and shaded outages. Mouse or arrow keys read a point. */
export function LatencyChart({ details, hours }: { details: StatusDetails; hours: number }) {
  const id = useId();
  const plotted = useMemo(() => {
    const toMs = Date.now();
    const span = { fromMs: toMs - hours * HOUR_MS, toMs };
    return { columns: columnsOf(details), ...span, outages: outagesOf(details.incidents, span) };
  }, [details]);
  const { columns, outages } = plotted;
  const [shown, setShown] = useState<number>();
  const { frame, plot, problem } = useChart(
    (library, element) => plotLatency(library, element, plotted, setShown),
    [plotted],
  );
  const last = columns.times.length - 1;
  const at = Math.max(0, Math.min(shown ?? last, last));

  function show(index: number) {
    setShown(index);
    const left = plot.current?.valToPos(columns.times[index] ?? 0, 'x') ?? 0;
    plot.current?.setCursor({ left, top: 0 }, false);
  }
  if (columns.means.every((mean) => mean === null))
    return <p class="none">No response times in this period.</p>;
  return (
    <>
      <div
        class="latency"
        role="slider"
        tabIndex={0}
        aria-label="Response times"
        aria-describedby={`${id}-all`}
        aria-valuemin={1}
        aria-valuemax={last + 1}
        aria-valuenow={at + 1}
        aria-valuetext={pointText(columns, at, outages)}
        onFocus={() => shown === undefined && show(last)}
        onBlur={() => setShown(undefined)}
        onKeyDown={(event) => {
          const next = stepOfKey(event, at, last);
          if (next !== undefined) show(next);
        }}
      >
        <p class="latency-readout aside digits" aria-hidden="true">
          {shown === undefined ? summaryText(columns) : pointText(columns, at, outages)}
        </p>
        {problem ? <p class="notice">{problem}</p> : <div ref={frame} aria-hidden="true" />}
      </div>
      <p class="unseen" id={`${id}-all`}>
        {summaryText(columns)}
      </p>
      <LatencyTable columns={columns} text={(index) => pointText(columns, index, outages)} />
    </>
  );
}

function pointText(
  { times, means, least, most }: LatencyColumns,
  at: number,
  outages: readonly { fromMs: number; toMs: number }[],
): string {
  const atMs = (times[at] ?? 0) * 1_000;
  const name = moment.format(atMs);
  const mean = means[at];
  if (typeof mean !== 'number') {
    const wasDown = outages.some(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs);
    return `${name}: ${wasDown ? 'down' : 'no data'}`;
  }
  const range = `${formatMilliseconds(least[at] ?? mean)} to ${formatMilliseconds(most[at] ?? mean)}`;
  return `${name}: ${formatMilliseconds(mean)} on average, ${range}`;
}

function summaryText({ means, least, most }: LatencyColumns): string {
  const measured = means.filter((mean) => mean !== null);
  if (measured.length === 0) return 'No data.';
  const mean = measured.reduce((sum, one) => sum + one, 0) / measured.length;
  const all = [...least, ...most].filter((one) => one !== null);
  const [min, max] = [Math.min(...all), Math.max(...all)];
  return `${formatMilliseconds(mean)} on average, ${formatMilliseconds(min)} to ${formatMilliseconds(max)}`;
}

/** The chart as text, rendered only while it is open. */
function LatencyTable({
  columns,
  text,
}: {
  columns: LatencyColumns;
  text: (index: number) => string;
}) {
  const [open, setOpen] = useState(false);
  return (
    <details
      class="as-text"
      onToggle={({ currentTarget }) => setOpen((currentTarget as HTMLDetailsElement).open)}
    >
      <summary>As a list</summary>
      {open && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
        <section class="scrolled" tabIndex={0} aria-label="Response times, newest first">
          <ul>{columns.times.map((time, at) => <li key={time}>{text(at)}</li>).reverse()}</ul>
        </section>
      )}
    </details>
  );
}
