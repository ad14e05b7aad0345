/** The geometry of a chart, for the page, which may not import the bot itself. */
export { type ChartLayout, layOut, valueWords } from '../../bot/shared/chart-layout.ts';
