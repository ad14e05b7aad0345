import type { CardAction } from '../shared/card.ts';

const button =
  (label: string, verb: string) =>
  (investigation: string): CardAction => ({
    label,
    command: `investigation ${verb}`,
    values: { investigation },
  });

export const details = button('Details', 'details');
export const again = button('Investigate again', 'again');
export const notNow = button('Not now', 'off');
