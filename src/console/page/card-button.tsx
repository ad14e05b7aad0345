import { useState } from 'preact/hooks';
import type { CardAction } from '../wire.ts';

/** The names of buttons that show a sign only. */
const NAMES_OF_SIGNS: Record<string, string> = { '👍': 'Good answer', '👎': 'Bad answer' };

/** A button under a card or an answer; it takes no second press while the first is under way. */
export function CardButton({
  action,
  onPress,
}: {
  action: CardAction;
  onPress: (action: CardAction) => Promise<void>;
}) {
  const [pressing, setPressing] = useState(false);
  async function press() {
    if (pressing) return;
    setPressing(true);
    await onPress(action);
    setPressing(false);
  }
  return (
    // Not `disabled`, which would take the focus from whoever came by keyboard.
    <button
      type="button"
      aria-label={NAMES_OF_SIGNS[action.label]}
      aria-disabled={pressing}
      onClick={() => void press()}
    >
      {action.label}
    </button>
  );
}
