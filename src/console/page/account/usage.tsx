import { useState } from 'preact/hooks';
import type { OutcomeCounts, UsageAnswer, UsageBy } from '../../account/api-types.ts';
import type { DaySpan } from '../../account/spans.ts';
import { Fact } from '../shared/fact.tsx';
import { type Measure, Swatch, UsageChart } from './chart.tsx';
import { useLoaded } from './client.ts';
import {
  Choice,
  formatNumber,
  Name,
  type Option,
  Section,
  Segments,
  SpanChoice,
  shortNumber,
} from './parts.tsx';
import { DayTable, PairTable } from './usage-tables.tsx';

const BY_OPTIONS: Option<UsageBy>[] = [
  { value: 'model', label: 'By model' },
  { value: 'key', label: 'By key' },
];
const MEASURE_OPTIONS: Option<Measure>[] = [
  { value: 'tokens', label: 'Tokens' },
  { value: 'requests', label: 'Requests' },
];

export function UsageSection() {
  const [days, setDays] = useState<DaySpan>(30);
  const [by, setBy] = useState<UsageBy>('model');
  const [measure, setMeasure] = useState<Measure>('tokens');
  const [key, setKey] = useState('');
  const query = new URLSearchParams({ days: String(days), by, ...(key !== '' && { key }) });
  const loaded = useLoaded<UsageAnswer>(`usage?${query}`);
  const { value } = loaded;
  const notice = value?.notice;
  const isEmpty = value?.total.requests === 0;
  return (
    <Section
      title="Usage"
      about="Requests to the model gateway. Days follow the UTC calendar."
      controls={
        <>
          <SpanChoice days={days} onChange={setDays} />
          <Segments legend="Group" value={by} options={BY_OPTIONS} onChange={setBy} />
          <Segments
            legend="Measure"
            value={measure}
            options={MEASURE_OPTIONS}
            onChange={setMeasure}
          />
          <KeyChoice keys={value?.keys ?? []} chosen={key} onChoose={setKey} />
        </>
      }
      loaded={loaded}
      notices={notice === undefined ? [] : [notice]}
      empty={isEmpty && notice === undefined ? NO_REQUESTS : undefined}
    >
      {value && !isEmpty && <UsageReport usage={value} measure={measure} by={by} />}
    </Section>
  );
}

const NO_REQUESTS = {
  title: 'No requests in this period',
  text: (
    <>
      Ask something in the <a href="/">playground</a>, or send a request with a{' '}
      <a href="#keys">key</a>. It appears here once it is answered.
    </>
  ),
};

function UsageReport(props: { usage: UsageAnswer; measure: Measure; by: UsageBy }) {
  const { usage, measure, by } = props;
  return (
    <>
      <Totals total={usage.total} />
      <UsageChart usage={usage} measure={measure} />
      <Legend usage={usage} measure={measure} />
      <details class="as-text">
        <summary>Show the chart as a table</summary>
        <DayTable usage={usage} measure={measure} by={by} />
      </details>
      <PairTable usage={usage} />
    </>
  );
}

function Totals({ total }: { total: OutcomeCounts }) {
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

function KeyChoice(props: {
  keys: UsageAnswer['keys'];
  chosen: string;
  onChoose: (key: string) => void;
}) {
  const { keys, chosen, onChoose } = props;
  // The chosen key stays an option, even if it wasn't used in the period.
  const isMissing = chosen !== '' && !keys.some(({ id }) => id === chosen);
  const options = [
    { value: '', label: 'All keys' },
    ...(isMissing ? [{ value: chosen, label: chosen }] : []),
    ...keys.map(({ id, name }) => ({ value: id, label: name })),
  ];
  return <Choice label="Key" value={chosen} options={options} onChange={onChoose} minor />;
}
