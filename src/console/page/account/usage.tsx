import { useState } from 'preact/hooks';
import type { Counts, UsageAnswer, UsageBy } from '../../account/api-types.ts';
import type { Span } from '../../account/spans.ts';
import { Fact } from '../shared/fact.tsx';
import { type Measure, Swatch, UsageChart } from './chart.tsx';
import { useLoaded } from './client.ts';
import {
  Empty,
  formatNumber,
  Name,
  Notice,
  SectionHead,
  Segments,
  SpanChoice,
  shortNumber,
  Waiting,
} from './parts.tsx';
import { DayTable, PairTable } from './usage-tables.tsx';

const BY_CHOICES = [
  { value: 'model', label: 'By model' },
  { value: 'key', label: 'By key' },
] as const;
const MEASURE_CHOICES = [
  { value: 'tokens', label: 'Tokens' },
  { value: 'requests', label: 'Requests' },
] as const;

/** What was used, by day, key and model. */
export function UsageSection() {
  const [days, setDays] = useState<Span>(30);
  const [by, setBy] = useState<UsageBy>('model');
  const [measure, setMeasure] = useState<Measure>('tokens');
  const [key, setKey] = useState('');
  const query = new URLSearchParams({ days: String(days), by, ...(key !== '' && { key }) });
  const loaded = useLoaded<UsageAnswer>(`usage?${query}`);
  const { value } = loaded;
  return (
    <section>
      <SectionHead
        title="Usage"
        about="Requests to the model gateway. Days follow the UTC calendar."
      />
      <div class="choices flow">
        <SpanChoice days={days} onChange={setDays} />
        <Segments<UsageBy> legend="Group" value={by} choices={BY_CHOICES} onChange={setBy} />
        <Segments<Measure>
          legend="Measure"
          value={measure}
          choices={MEASURE_CHOICES}
          onChange={setMeasure}
        />
        <KeyChoice keys={value?.keys ?? []} chosen={key} onChoose={setKey} />
      </div>
      <Waiting loaded={loaded} />
      {value?.notice !== undefined && <Notice>{value.notice}</Notice>}
      {value && value.total.requests === 0 && value.notice === undefined && (
        <Empty title="No requests in this period">
          <p>
            Ask something in the <a href="/">playground</a>, or send a request with a{' '}
            <a href="#keys">key</a>. It appears here once it is answered.
          </p>
        </Empty>
      )}
      {value && value.total.requests > 0 && <Used usage={value} measure={measure} by={by} />}
    </section>
  );
}

function Used({ usage, measure, by }: { usage: UsageAnswer; measure: Measure; by: UsageBy }) {
  return (
    <>
      <Totals total={usage.total} />
      <UsageChart usage={usage} measure={measure} />
      <Legend usage={usage} measure={measure} />
      <details class="as-table">
        <summary>Show the chart as a table</summary>
        <DayTable usage={usage} measure={measure} by={by} />
      </details>
      <PairTable usage={usage} />
    </>
  );
}

function Totals({ total }: { total: Counts }) {
  const { requests, complete, left, failed, refused, promptTokens, answerTokens, estimated } =
    total;
  const ended = [
    [left, 'cancelled by the caller'],
    [failed, 'failed'],
    [refused, 'refused'],
  ] as const;
  const others = ended.filter(([count]) => count > 0);
  return (
    <dl class="totals">
      <Fact label="Requests">
        <strong class="digits">{formatNumber(requests)}</strong>
        {formatNumber(complete)} complete
        {others.map(([count, text]) => `, ${formatNumber(count)} ${text}`)}
      </Fact>
      <Fact label="Prompt tokens">
        <strong class="digits">{shortNumber(promptTokens)}</strong>
        {formatNumber(promptTokens)}
      </Fact>
      <Fact label="Answer tokens">
        <strong class="digits">{shortNumber(answerTokens)}</strong>
        {formatNumber(answerTokens)}
      </Fact>
      <Fact label="Estimated">
        <strong class="digits">{formatNumber(estimated)}</strong>
        requests without token counts from the provider
      </Fact>
    </dl>
  );
}

function Legend({ usage: { groups }, measure }: { usage: UsageAnswer; measure: Measure }) {
  return (
    <ul class="legend framed flow">
      {groups.map((group, index) => (
        <li key={group.id ?? ''} class="beside">
          <Swatch group={group} index={index} />
          <Name>{group.name}</Name>
          <span class="count digits">
            {formatNumber(group[measure].reduce((sum, one) => sum + one, 0))}
          </span>
        </li>
      ))}
    </ul>
  );
}

function KeyChoice({
  keys,
  chosen,
  onChoose,
}: {
  keys: UsageAnswer['keys'];
  chosen: string;
  onChoose: (key: string) => void;
}) {
  // One that was chosen stays, though it was not used in the days that are shown now.
  const isGone = chosen !== '' && !keys.some(({ id }) => id === chosen);
  return (
    <label class="choice minor">
      <span>Key</span>
      <select value={chosen} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        <option value="">All keys</option>
        {isGone && <option value={chosen}>{chosen}</option>}
        {keys.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
