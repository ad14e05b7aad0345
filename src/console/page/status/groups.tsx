import { useMemo } from 'preact/hooks';
import type { StatusMonitor } from '../../status/api-types.ts';
import { groupsOf } from './filter.ts';
import { StatusIcon } from './icon.tsx';

/** A button for each tag, which limits the page to its monitors. */
export function TagGroups(props: {
  monitors: readonly StatusMonitor[];
  chosen: string | undefined;
  onChoose: (tag: string | undefined) => void;
}) {
  const { monitors, chosen, onChoose } = props;
  const groups = useMemo(() => groupsOf(monitors), [monitors]);
  if (groups.length === 0) return null;
  return (
    <fieldset class="groups flow">
      <legend class="unseen">Show by tag</legend>
      {groups.map(({ tag, condition, text }) => (
        <button
          type="button"
          class={`chip framed minor ${condition}`}
          key={tag}
          aria-pressed={tag === chosen}
          onClick={() => onChoose(tag === chosen ? undefined : tag)}
        >
          <StatusIcon condition={condition} />
          <strong>{tag}</strong> <span class="digits">{text}</span>
        </button>
      ))}
    </fieldset>
  );
}
