import { useState } from 'preact/hooks';
import { CopyIcon } from './icons.tsx';

export function CopyButton({ text }: { text: string }) {
  const [label, setLabel] = useState('Copy');
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      setLabel('Copied');
    } catch {
      setLabel('Select and copy');
    }
    setTimeout(() => setLabel('Copy'), 2_000);
  }
  return (
    <button type="button" class="copy" onClick={() => void copy()}>
      <CopyIcon /> <span aria-live="polite">{label}</span>
    </button>
  );
}
