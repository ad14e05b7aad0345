import { useMemo } from 'preact/hooks';
import { percentText } from '../../shared/from-bot.ts';
import type { StatusMonitor } from '../../status/api-types.ts';
import { DayBars } from './day-bars.tsx';
import { StatusIcon } from './icon.tsx';
import { conditionOf, formatMilliseconds, statusText, watchedText } from './text-format.ts';
import { addressOf } from './use-status.ts';

export function StatusRow({ monitor }: { monitor: StatusMonitor }) {
  // Mostly one row of 200 has changed, and an unchanged monitor is the same object.
  return useMemo(() => rowOf(monitor), [monitor]);
}

function rowOf(monitor: StatusMonitor) {
  const { id, name, target, tags, status_reason, days } = monitor;
  const condition = conditionOf(monitor);
  return (
    <li class={`row ${condition}${days ? '' : ' plain'}`} data-id={id}>
      <div class="row-head">
        <StatusIcon condition={condition} />
        <div class="row-name flow">
          <h2>
            <a href={addressOf(id)}>{name}</a>
          </h2>
          {target !== undefined && <p class="target minor clipped">{target}</p>}
          {tags && (
            <p class="tags flow">
              <span class="unseen">Tags:</span>
              {tags.map((tag) => (
                <span class="pill" key={tag}>
                  {tag}
                </span>
              ))}
            </p>
          )}
        </div>
        <p class="row-status">{statusText(monitor)}</p>
        <RowFacts monitor={monitor} />
      </div>
      {status_reason !== undefined && condition !== 'up' && <p class="reason">{status_reason}</p>}
      {days && <DayBars days={days} name={name} />}
    </li>
  );
}

function RowFacts({ monitor }: { monitor: StatusMonitor }) {
  const { response_time_ms, uptime, days } = monitor;
  const watched = typeof uptime === 'number' && days && watchedText(days);
  return (
    <p class="row-facts flow minor digits">
      <Cautions monitor={monitor} />
      {watched && <span>{watched}</span>}
      {response_time_ms !== undefined && (
        <span class="figure">{formatMilliseconds(response_time_ms)}</span>
      )}
      {typeof uptime === 'number' && days && (
        <span class="figure">{`${percentText(uptime)} up`}</span>
      )}
      {uptime === null && <span>Not checked yet</span>}
    </p>
  );
}

export function Cautions({ monitor }: { monitor: StatusMonitor }) {
  return (
    <>
      {monitor.flapping && <span class="caution pill">Flapping</span>}
      {monitor.waiting_for_first_ping && <span class="caution pill">Waiting for first ping</span>}
      {monitor.stale && <span class="caution pill">May be out of date</span>}
    </>
  );
}
