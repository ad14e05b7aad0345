import { CopyButton } from '../shared/copy-button.tsx';

/** Lines to copy. */
export function Example({ name, children: text }: { name: string; children: string }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: these are no fields of a form.
    <div class="example framed" role="group" aria-label={name}>
      <CopyButton text={text} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must get there. */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}
