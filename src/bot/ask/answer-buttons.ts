import type { CardAction } from '../shared/card.ts';

const action = (label: string, verb: string, answer: string, more = {}): CardAction => ({
  label,
  command: `answer ${verb}`,
  values: { answer, ...more },
});

/** Under an answer that is being generated. */
export const whileGenerated = (answer: string): CardAction[] => [action('Stop', 'stop', answer)];

/** Under a whole answer in a thread. */
export const underWhole = (answer: string, { isCutOff }: { isCutOff: boolean }): CardAction[] => [
  ...(isCutOff ? [action('Continue', 'continue', answer)] : []),
  action('Regenerate', 'again', answer),
  ...thumbs(answer),
];

export const thumbs = (answer: string, more = {}): CardAction[] => [
  action('👍', 'rate', answer, { as: 'good', ...more }),
  action('👎', 'rate', answer, { as: 'bad', ...more }),
];

/** Under an answer that broke off. */
export const underBroken = (answer: string): CardAction[] => [action('Try again', 'again', answer)];

/** Under an answer that only one person sees. */
export const underPrivate = (answer: string): CardAction[] => [
  action('Share', 'share', answer),
  ...thumbs(answer, { private: 'true' }),
];
