import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { CardAction } from '../../../shared/api-types.ts';
import { ThumbDownIcon, ThumbUpIcon } from '../../shared/icons.tsx';

/** Names and shapes for buttons with an emoji, because not every system has a font for it. */
const SIGNS: Record<string, { name: string; Shape: () => JSX.Element }> = {
  '👍': { name: 'Good answer', Shape: ThumbUpIcon },
  '👎': { name: 'Bad answer', Shape: ThumbDownIcon },
};

/** A button under a card or an answer. It can't be pressed while a press is under way, its own or the one it `waits` for. */
export function CardButton(props: {
  action: CardAction;
  waits?: boolean;
  pressed?: boolean;
  onPress: (action: CardAction) => Promise<unknown>;
}) {
  const { action, waits = false, pressed, onPress } = props;
  const [pressing, setPressing] = useState(false);
  const sign = Object.hasOwn(SIGNS, action.label) ? SIGNS[action.label] : undefined;
  async function press() {
    if (pressing || waits) return;
    setPressing(true);
    await onPress(action);
    setPressing(false);
  }
  return (
    // `disabled` would take the keyboard focus away.
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
