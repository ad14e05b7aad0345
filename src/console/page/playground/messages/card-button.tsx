import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { CardAction } from '../../../shared/api-types.ts';
import { ThumbDownIcon, ThumbUpIcon } from '../../shared/icons.tsx';

/** Buttons that show a sign only: its name, and its shape where no font may have it. */
const SIGNS: Record<string, { name: string; Shape: () => JSX.Element }> = {
  '👍': { name: 'Good answer', Shape: ThumbUpIcon },
  '👎': { name: 'Bad answer', Shape: ThumbDownIcon },
};

/** A button under a card or an answer; it takes no press while one is under way: its own, or of another that it `waits` for. */
export function CardButton({
  action,
  waits = false,
  pressed,
  onPress,
}: {
  action: CardAction;
  waits?: boolean;
  /** What a button that stays pressed shows; absent for any other. */
  pressed?: boolean | undefined;
  onPress: (action: CardAction) => Promise<unknown>;
}) {
  const [pressing, setPressing] = useState(false);
  const sign = Object.hasOwn(SIGNS, action.label) ? SIGNS[action.label] : undefined;
  async function press() {
    if (pressing || waits) return;
    setPressing(true);
    await onPress(action);
    setPressing(false);
  }
  return (
    // Not `disabled`, which would take the focus from whoever came by keyboard.
    <button
      type="button"
      class={action.style}
      aria-label={sign?.name}
      aria-pressed={pressed}
      aria-disabled={pressing || waits}
      onClick={() => void press()}
    >
      {sign ? <sign.Shape /> : action.label}
    </button>
  );
}
