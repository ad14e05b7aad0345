import type { Card, Chart } from './card.ts';

/** What a chart says where it cannot be shown. */
export const chartText = ({ title, text }: Chart) => `${title}: ${text}`;

/** The card with the text of each chart in its place; for where no charts are shown, or `which` is not. Pure. */
export function withoutCharts(card: Card, which: (chart: Chart) => boolean = () => true): Card {
  return {
    ...card,
    parts: card.parts.map((part) =>
      part.kind === 'chart' && which(part) ? { kind: 'text', text: chartText(part) } : part,
    ),
  };
}

/** Whether there is anything in the card that some place may not show. */
export const hasChart = ({ parts }: Card) => parts.some(({ kind }) => kind === 'chart');
