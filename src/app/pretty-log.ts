import { styleText } from 'node:util';
import { plain } from './plain.ts';

const LEVELS = {
  10: ['TRACE', 'gray'],
  20: ['DEBUG', 'gray'],
  30: ['INFO ', 'green'],
  40: ['WARN ', 'yellow'],
  50: ['ERROR', 'red'],
  60: ['FATAL', 'red'],
} as const;

interface LogRecord {
  level: keyof typeof LEVELS;
  time: string;
  msg?: string;
  err?: { stack?: string; message?: string };
}

/** A line of the log for people: `10:55:01 WARN  the list could not be read  status=503`, and an error's stack below. */
export function prettyLine(line: string): string {
  let record: LogRecord;
  try {
    record = JSON.parse(line);
  } catch {
    // A secret that is a number leaves no JSON.
    return `${plain(line.trimEnd())}\n`;
  }
  const { level, time, msg = '', err, ...fields } = record;
  const [word, colour] = LEVELS[level];
  const head = `${style('gray', new Date(time).toTimeString().slice(0, 8))} ${style(colour, word)}`;
  const values = Object.entries(fields).map(
    ([name, value]) => style('cyan', `${plain(name)}=`) + plain(valueText(value)),
  );
  const stack = (err?.stack ?? err?.message ?? '').split('\n').filter((one) => one !== '');
  const first = [head, plain(msg), ...values].filter((part) => part !== '').join(' ');
  return `${[first, ...stack.map((one) => `    ${plain(one)}`)].join('\n')}\n`;
}

const style = (colour: Parameters<typeof styleText>[0], text: string) =>
  styleText(colour, text, { stream: process.stderr });

function valueText(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
