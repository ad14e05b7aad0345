import { useEffect, useRef } from 'preact/hooks';
import type { Completion, LineSuggestion } from './completion.ts';

export function SuggestionList(props: {
  id: string;
  suggestions: LineSuggestion[];
  chosen: number | undefined;
  onTake: (suggestion: LineSuggestion) => void;
}) {
  const { id, suggestions, chosen, onTake } = props;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (chosen === undefined) return;
    list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  return (
    <div ref={list} id={id} class="suggestions framed" role="listbox" aria-label="Suggestions">
      {suggestions.map((suggestion, index) => (
        <div
          key={suggestion.line}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          // A click would come after the input has lost its focus.
          onMouseDown={(event) => {
            event.preventDefault();
            onTake(suggestion);
          }}
        >
          <code>{suggestion.label}</code>
          <span class="minor">{suggestion.detail}</span>
        </div>
      ))}
    </div>
  );
}

export function CommandHint({ hint }: { hint: NonNullable<Completion['hint']> }) {
  const { command, field } = hint;
  return (
    <div class="hint framed">
      <p>
        <code>/{command.name}</code>{' '}
        {command.fields.map((each) => (
          <code key={each.name} class={each.name === field?.name ? 'current' : ''}>
            {each.required ? `<${each.name}>` : `[${each.name}]`}{' '}
          </code>
        ))}
      </p>
      <p class="minor">{field ? field.description : command.summary}</p>
    </div>
  );
}
