import { answerOfButton, type CardAction } from '../shared/card.ts';

const action = (label: string, verb: string, answer: string): CardAction => ({
  label,
  command: `answer ${verb}`,
  values: { answer },
});

/** Under an answer that is being generated. */
export const whileGenerated = (answer: string): CardAction[] => [action('Stop', 'stop', answer)];

/** Under a whole answer in a thread. */
export const underWhole = (answer: string, { isCutOff }: { isCutOff: boolean }): CardAction[] => [
  ...(isCutOff ? [action('Continue', 'continue', answer)] : []),
  action('Regenerate', 'again', answer),
];

/** Under an answer that broke off. */
export const underBroken = (answer: string): CardAction[] => [action('Try again', 'again', answer)];

/** Under an answer that only one person sees. */
export const underPrivate = (answer: string): CardAction[] => [action('Share', 'share', answer)];
/**
 * The state of an answer by the buttons of one of its messages: growing with a Stop button, ended with others. `undefined` if
 * no button is about this answer.
 */
export function stateByButtons(
  buttons: readonly string[],
  answer: string,
): 'growing' | 'ended' | undefined {
  const about = buttons.map(answerOfButton).filter((button) => button?.answer === answer);
  if (about.length === 0) return undefined;
  return about.some((button) => button?.stops) ? 'growing' : 'ended';
}
