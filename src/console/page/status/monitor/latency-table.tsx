import { useState } from 'preact/hooks';
import type { LatencyColumns } from './latency-data.ts';

/** The same as text, for whoever reads better than looks; made only when it is opened. */
export function LatencyTable({
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
