import type { ComponentChildren } from 'preact';
import type { UsageAnswer, UsageBy } from '../../account/api-types.ts';
import type { Measure } from './chart.tsx';
import { formatDay, formatNumber, Name } from './parts.tsx';

/** What the chart shows, for whoever would rather read it: the days on which something was asked, the last one first. */
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
    .map((day, index) => ({ day, counts: groups.map((group) => group[measure][index] ?? 0) }))
    .filter(({ counts }) => counts.some((count) => count > 0))
    .toReversed();
  return (
    <Scrolled label={`${measure} by day and ${by}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Day</th>
            {groups.map(({ id, name }) => (
              <th key={id ?? ''} scope="col" class="number">
                <Name>{name}</Name>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ day, counts }) => (
            <tr key={day}>
              <th scope="row">{formatDay(day)}</th>
              {counts.map((count, index) => (
                <td key={groups[index]?.id ?? ''} class="number">
                  {formatNumber(count)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  );
}

/** What each key asked of each model. */
export function PairTable({ usage: { rows, moreRows } }: { usage: UsageAnswer }) {
  return (
    <>
      <h3>By key and model</h3>
      <Scrolled label="Usage by key and model">
        <table>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Model</th>
              {['Requests', 'Complete', 'Left', 'Failed', 'Refused', 'Prompts', 'Answers'].map(
                (heading) => (
                  <th key={heading} scope="col" class="number">
                    {heading}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ keyId, keyName, model, counts }) => (
              <tr key={`${keyId} ${model}`}>
                <th scope="row">
                  <Name>{keyName}</Name>
                </th>
                <td>
                  <Name>{model}</Name>
                </td>
                <td class="number">{formatNumber(counts.requests)}</td>
                <td class="number">{formatNumber(counts.complete)}</td>
                <td class="number">{formatNumber(counts.left)}</td>
                <td class="number">{formatNumber(counts.failed)}</td>
                <td class="number">{formatNumber(counts.refused)}</td>
                <td class="number">{formatNumber(counts.promptTokens)}</td>
                <td class="number">{formatNumber(counts.answerTokens)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
      {moreRows > 0 && <p class="more">{formatNumber(moreRows)} more with fewer tokens.</p>}
      <p class="more">
        Left: the caller went away before the end. Failed: no provider answered. Prompts and answers
        are tokens.
      </p>
    </>
  );
}

/** A table that scrolls sideways where it does not fit; the keyboard reaches it. */
export function Scrolled({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must get there.
    <section class="scrolled" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
