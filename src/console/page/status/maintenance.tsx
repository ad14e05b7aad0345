import { comingWords, monitorNames } from '../../shared/from-bot.ts';
import type { StatusMaintenance, StatusPlanned } from '../../status/api-types.ts';
import { useNowMs } from './use-status.ts';

export function Maintenance({ planned }: { planned: StatusPlanned }) {
  const nowMs = useNowMs(10_000);
  const windows = planned.windows.filter(({ ends_at }) => Date.parse(ends_at) > nowMs);
  if (windows.length + planned.more === 0) return null;
  return (
    <section class="planned" aria-label="Maintenance">
      <ul>
        {windows.map((window) => (
          <li key={keyOf(window)}>
            <strong>
              {Date.parse(window.starts_at) <= nowMs ? 'Maintenance' : 'Planned maintenance'}
            </strong>
            {`: ${monitorNames(window)}, `}
            <time dateTime={window.starts_at}>{comingWords(window, nowMs)}</time>
            {window.reason !== undefined && <span class="why">{window.reason}</span>}
          </li>
        ))}
        {planned.more > 0 && <li>{`And ${planned.more} more.`}</li>}
      </ul>
    </section>
  );
}

const keyOf = ({ starts_at, ends_at, monitors }: StatusMaintenance) =>
  [starts_at, ends_at, monitors[0]?.id].join(' ');
