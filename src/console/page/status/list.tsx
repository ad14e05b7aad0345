import { useMemo, useRef, useState } from 'preact/hooks';
import { counted } from '../../shared/from-bot.ts';
import type { StatusMonitor } from '../../status/api-types.ts';
import { conditionsOf, filtered, noFilter, type StatusFilter } from './filter.ts';
import { StatusRow } from './row.tsx';
import { conditionText } from './text-format.ts';
import { useHeldOrder } from './use-held-order.ts';

/** A shorter list has no filters. */
const MANY = 8;

export function StatusList({ monitors }: { monitors: readonly StatusMonitor[] }) {
  const [filter, setFilter] = useState(noFilter);
  const wanted = useMemo(() => filtered(monitors, filter), [monitors, filter]);
  const list = useRef<HTMLUListElement>(null);
  const byId = new Map(wanted.map((monitor) => [monitor.id, monitor]));
  const { order, reading } = useHeldOrder(list, [...byId.keys()]);
  return (
    <>
      {monitors.length >= MANY && (
        <Filters monitors={monitors} filter={filter} onChange={setFilter} />
      )}
      <p class="unseen" role="status">
        {filter !== noFilter && `${counted(wanted.length, 'monitor')} shown`}
      </p>
      {wanted.length === 0 && (
        <div class="none">
          <p>No monitors match.</p>
          <button type="button" class="link" onClick={() => setFilter(noFilter)}>
            Show all
          </button>
        </div>
      )}
      <ul
        class="rows framed"
        ref={list}
        aria-label="Monitors"
        hidden={wanted.length === 0}
        {...reading}
      >
        {order.map((id) => {
          const monitor = byId.get(id);
          return monitor && <StatusRow key={id} monitor={monitor} />;
        })}
      </ul>
    </>
  );
}

function Filters(props: {
  monitors: readonly StatusMonitor[];
  filter: StatusFilter;
  onChange: (filter: StatusFilter) => void;
}) {
  const { monitors, filter, onChange } = props;
  const { text, condition: chosen } = filter;
  const offered = conditionsOf(monitors);
  return (
    <search class="filters flow beside">
      <input
        type="search"
        class="framed"
        value={text}
        placeholder="Find a monitor"
        aria-label="Find a monitor by name, address or tag"
        maxLength={200}
        onInput={({ currentTarget }) => onChange({ ...filter, text: currentTarget.value })}
      />
      <fieldset class="flow">
        <legend class="unseen">Show by status</legend>
        {[{ condition: undefined, count: monitors.length }, ...offered].map(
          ({ condition, count }) => (
            <button
              type="button"
              class="chip framed minor"
              key={condition ?? 'all'}
              aria-pressed={chosen === condition}
              onClick={() => onChange({ ...filter, condition })}
            >
              {condition ? conditionText(condition) : 'All'} <span class="digits">{count}</span>
            </button>
          ),
        )}
      </fieldset>
    </search>
  );
}
