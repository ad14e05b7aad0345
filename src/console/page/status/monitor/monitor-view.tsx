import { useEffect, useRef, useState } from 'preact/hooks';
import type { StatusMonitor } from '../../../status/api-types.ts';
import { Fact } from '../../shared/fact.tsx';
import type { StatusClient } from '../client.ts';
import { DayBars } from '../day-bars.tsx';
import { DAYS } from '../days.ts';
import { StatusIcon } from '../icon.tsx';
import { Cautions } from '../row.tsx';
import { conditionOf, statusText, uptimeFigures } from '../text-format.ts';
import { BadgeSnippet } from './badge-snippet.tsx';
import { Incidents } from './incidents.tsx';
import { LatencyChart } from './latency-chart.tsx';
import { ManageMonitor } from './manage-monitor.tsx';
import { FactsPanel } from './monitor-facts.tsx';
import { type DetailsState, useDetails } from './use-details.ts';

const SPANS = [
  { hours: 1, text: '1 hour' },
  { hours: 24, text: '24 hours' },
  { hours: 7 * 24, text: '7 days' },
  { hours: 90 * 24, text: '90 days' },
] as const;

/** One opened monitor. `live` is its current state from the list. */
export function MonitorView(props: {
  id: string;
  live: StatusMonitor | undefined;
  client: StatusClient;
  /** True for people who may use the commands of the chat. */
  canManage: boolean;
}) {
  const { id, live, client, canManage } = props;
  const [chosenHours, setHours] = useState<number>();
  const hours = chosenHours ?? (isYoung(live) ? 1 : 24);
  const [changes, setChanges] = useState(0);
  const version = `${changes} ${live?.status} ${live?.status_changed_at} ${live?.name} ${live?.target}`;
  const state = useDetails(client, { id, hours, version });
  const monitor = live ?? state.details?.monitor;
  return (
    <article class="monitor">
      <a class="back" href="#/">
        <span aria-hidden="true">←</span> All monitors
      </a>
      {monitor ? <Heading monitor={monitor} /> : <Missing state={state} />}
      {canManage && (
        <ManageMonitor id={id} monitor={monitor} onChange={() => setChanges(changes + 1)} />
      )}
      {state.problem !== undefined && (
        <p class="notice" role="status">
          {state.problem} Trying again…
        </p>
      )}
      {monitor?.days && (
        <section class="panel framed" aria-label="Days">
          <h2>Last {DAYS} days</h2>
          <DayBars days={monitor.days} name={monitor.name} />
        </section>
      )}
      {monitor && state.details && (
        <>
          <Uptimes details={state.details} />
          {monitor.days && monitor.check_type !== 'HEARTBEAT' && (
            <Latency state={state} hours={hours} onHours={setHours} />
          )}
          {(monitor.days || state.details.incidents.length > 0) && (
            <Incidents incidents={state.details.incidents} />
          )}
          <FactsPanel details={state.details} monitor={monitor} />
          <BadgeSnippet monitor={monitor} />
        </>
      )}
    </article>
  );
}

/** A younger monitor has too few hours for a line. */
const YOUNG_MS = 3 * 3_600_000;

function isYoung(monitor: StatusMonitor | undefined): boolean {
  if (!monitor?.days) return false;
  const { up_ms, down_ms } = monitor.days;
  return [...up_ms, ...down_ms].reduce((sum, ms) => sum + ms, 0) < YOUNG_MS;
}

function Heading({ monitor }: { monitor: StatusMonitor }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const { name, target, status_reason } = monitor;
  const condition = conditionOf(monitor);
  return (
    <header class={`headline ${condition}`}>
      <StatusIcon condition={condition} />
      <div>
        <h1 tabIndex={-1} ref={heading}>
          {name}
        </h1>
        <p>
          <strong aria-live="polite">{statusText(monitor)}</strong>
          <Cautions monitor={monitor} />
        </p>
        {target !== undefined && <p class="target minor">{target}</p>}
        {status_reason !== undefined && condition !== 'up' && <p class="reason">{status_reason}</p>}
      </div>
    </header>
  );
}

function Missing({ state }: { state: DetailsState }) {
  if (!state.gone) return <p class="waiting">Loading…</p>;
  return (
    <section class="nothing welcome">
      <h1>Monitor not found</h1>
      <p>It was removed, or the address is wrong. See the list for other monitors.</p>
    </section>
  );
}

function Uptimes({ details }: { details: NonNullable<DetailsState['details']> }) {
  const figures = uptimeFigures(details.uptime);
  if (figures.length === 0) return null;
  return (
    <section class="panel framed" aria-label="Uptime">
      <h2>Uptime</h2>
      <dl class="figures">
        {figures.map(({ label, text }) => (
          <Fact key={label} label={label}>
            {text}
          </Fact>
        ))}
      </dl>
    </section>
  );
}

function Latency(props: { state: DetailsState; hours: number; onHours: (hours: number) => void }) {
  const { state, hours, onHours } = props;
  if (!state.details) return null;
  return (
    <section class="panel framed" aria-label="Response times" aria-busy={state.hours !== hours}>
      <div class="panel-head flow beside">
        <h2>Response times</h2>
        <fieldset class="flow">
          <legend class="unseen">Period</legend>
          {SPANS.map((span) => (
            <button
              type="button"
              class="chip framed minor"
              key={span.hours}
              aria-pressed={hours === span.hours}
              onClick={() => onHours(span.hours)}
            >
              {span.text}
            </button>
          ))}
        </fieldset>
      </div>
      <LatencyChart details={state.details} hours={state.hours} />
    </section>
  );
}
