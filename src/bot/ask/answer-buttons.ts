import type { CardAction } from '../shared/card.ts';

const action = (label: string, verb: string, answer: string, more = {}): CardAction => ({
  label,
  command: `answer ${verb}`,
  values: { answer, ...more },
});

/** The button under an answer that is being generated. */
export const whileGenerated = (answer: string): CardAction[] => [action('Stop', 'stop', answer)];

/** The buttons under a whole answer in a thread. */
export const underWhole = (answer: string, { isCutOff }: { isCutOff: boolean }): CardAction[] => [
  ...(isCutOff ? [action('Continue', 'continue', answer)] : []),
  action('Regenerate', 'again', answer),
  ...thumbs(answer),
];

export const thumbs = (answer: string, more = {}): CardAction[] => [
  action('👍', 'rate', answer, { as: 'good', ...more }),
  action('👎', 'rate', answer, { as: 'bad', ...more }),
];

/** The button under one that is not whole. */
export const underBroken = (answer: string): CardAction[] => [action('Try again', 'again', answer)];

/** The buttons under an answer that only one person sees. */
export const underPrivate = (answer: string): CardAction[] => [
  action('Share', 'share', answer),
  ...thumbs(answer, { private: 'true' }),
];
