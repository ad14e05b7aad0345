import type { Condition } from './text-format.ts';

/** A shape for each condition, because colour alone isn't enough for everyone. */
export function StatusIcon({ condition }: { condition: Condition | 'unknown' }) {
  const shapes = {
    up: <path d="m7.5 12.5 3 3 6-7" />,
    down: <path d="m8.5 8.5 7 7m0-7-7 7" />,
    degraded: <path d="M12 7v6m0 3.6v.4" />,
    pending: <path d="M12 7v5l3.5 2" />,
    maintenance: <path d="M8 12h8M12 8v8" />,
    paused: <path d="M9.5 8v8m5-8v8" />,
    unknown: <path d="M9.5 9.5a2.5 2.5 0 1 1 3.6 2.3c-.7.4-1.1.9-1.1 1.7m0 3.1v.2" />,
  };
  return (
    <svg class={`icon status-icon ${condition}`} viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="12" cy="12" r="11" />
      {shapes[condition]}
    </svg>
  );
}
