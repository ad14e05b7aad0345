import type { ComponentChildren } from 'preact';
import type { OutcomeCounts, UsageAnswer, UsageBy } from '../../account/api-types.ts';
import type { Measure } from './chart.tsx';
import { formatDay, formatNumber, Name } from './parts.tsx';

export function CountTable(props: {
  names: readonly string[];
  counted: readonly ComponentChildren[];
  /** An undefined count leaves its cell empty. */
  rows: ReadonlyArray<{
    key: string;
    names: readonly ComponentChildren[];
    counts: ReadonlyArray<number | undefined>;
  }>;
}) {
  const { names, counted, rows } = props;
  return (
    <table>
      <thead>
        <tr>
          {names.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
          {counted.map((heading, at) => (
            <th key={at} scope="col" class="number digits">
              {heading}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, names: [first, ...others], counts }) => (
          <tr key={key}>
            <th scope="row">{first}</th>
            {others.map((other, at) => (
              <td key={at}>{other}</td>
            ))}
            {counts.map((count, at) => (
              <td key={at} class="number digits">
                {count !== undefined && formatNumber(count)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The chart as a table: all days with requests, latest first. */
export function DayTable({
  usage: { days, groups },
  measure,
  by,
}: {
  usage: UsageAnswer;
  measure: Measure;
  by: UsageBy;
}) {
  const rows = days
    .map((day, index) => ({
      key: day,
      names: [formatDay(day)],
      counts: groups.map((group) => group[measure][index] ?? 0),
    }))
    .filter(({ counts }) => counts.some((count) => count > 0))
    .toReversed();
  return (
    <Scrolled label={`${measure} by day and ${by}`}>
      <CountTable
        names={['Day']}
        counted={groups.map(({ id, name }) => <Name key={id ?? ''}>{name}</Name>)}
        rows={rows}
      />
    </Scrolled>
  );
}

const COUNTED: ReadonlyArray<{ heading: string; name: keyof OutcomeCounts }> = [
  { heading: 'Requests', name: 'requests' },
  { heading: 'Complete', name: 'complete' },
  { heading: 'Cancelled', name: 'left' },
  { heading: 'Failed', name: 'failed' },
  { heading: 'Refused', name: 'refused' },
  { heading: 'Prompts', name: 'promptTokens' },
  { heading: 'Answers', name: 'answerTokens' },
];

export function PairTable({ usage: { rows, moreRows } }: { usage: UsageAnswer }) {
  return (
    <>
      <h3>By key and model</h3>
      <Scrolled label="Usage by key and model">
        <CountTable
          names={['Key', 'Model']}
          counted={COUNTED.map(({ heading }) => heading)}
          rows={rows.map(({ keyId, keyName, model, counts }) => ({
            key: `${keyId} ${model}`,
            names: [keyName, model].map((name, at) => <Name key={at}>{name}</Name>),
            counts: COUNTED.map(({ name }) => counts[name]),
          }))}
        />
      </Scrolled>
      {moreRows > 0 && (
        <p class="more aside">{formatNumber(moreRows)} more rows with fewer tokens.</p>
      )}
      <p class="more aside">
        Cancelled: the caller disconnected before the end. Failed: no provider answered. Prompts and
        answers are counted in tokens.
      </p>
    </>
  );
}

/** Scrolls a wide table sideways, also by keyboard. */
export function Scrolled({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must get there.
    <section class="scrolled framed" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
