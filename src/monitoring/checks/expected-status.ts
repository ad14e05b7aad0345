import { STATUS_CODES } from 'node:http';

/** Tells the wanted HTTP statuses from the others. */
export type ExpectedStatus = (status: number) => boolean;

/** Reads `200-299,401`; throws with a sentence when a code is not one or a range runs backwards. */
export function parseExpectedStatus(text: string): ExpectedStatus {
  const ranges = text.split(',').map((part) => {
    const [from = 0, to = from] = part.split('-').map(Number);
    if (from < 100 || to > 599) throw new Error('codes go from 100 to 599');
    if (from > to) throw new Error(`the range ${part} runs backwards`);
    return { from, to };
  });
  return (status) => ranges.some(({ from, to }) => from <= status && status <= to);
}

/** A status as people read it, such as `503 Service Unavailable`. */
export function statusInWords(status: number): string {
  const words = STATUS_CODES[status];
  return words ? `${status} ${words}` : String(status);
}
