import { useRef, useState } from 'preact/hooks';
import type { Someone } from '../../shared/api-types.ts';
import { Avatar } from './avatar.tsx';
import { InlineName } from './messages/inline-name.tsx';

/** Who this browser is, and the way to another name. */
export function You(props: {
  person: Someone;
  /** Throws an `Error` with a sentence to show. */
  onRename: (name: string) => Promise<void>;
}) {
  const { person, onRename } = props;
  const [naming, setNaming] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  if (person.id === '') return null;
  const done = () => {
    setNaming(false);
    // It is drawn again first.
    requestAnimationFrame(() => button.current?.focus());
  };
  return (
    <section class="you-here" aria-label="You">
      {naming ? (
        <InlineName label="Your name" value={person.name} onSave={onRename} onDone={done} />
      ) : (
        <button ref={button} type="button" onClick={() => setNaming(true)}>
          <Avatar someone={person} name={person.name} />
          <span class="name clipped">{person.name}</span>
          <span class="fine">Change name</span>
        </button>
      )}
    </section>
  );
}
