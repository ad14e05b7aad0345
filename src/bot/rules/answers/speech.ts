import { DAY_MS, isoDay } from '../days.ts';
import type { Language } from '../languages/language.ts';
import type { Phrases } from '../languages/phrases.ts';
import { sayEnglish } from '../languages/say-english.ts';
import { sayGerman } from '../languages/say-german.ts';
import { saySpanish } from '../languages/say-spanish.ts';

const PHRASES: Record<Language, Phrases> = { en: sayEnglish, de: sayGerman, es: saySpanish };

const UNITS = [
  { name: 'day', seconds: 86_400 },
  { name: 'hour', seconds: 3_600 },
  { name: 'minute', seconds: 60 },
  { name: 'second', seconds: 1 },
] as const;

/** Numbers, times and lengths of time as one language has them, beside its words. */
export type Speech = ReturnType<typeof speechOf>;

/** What speaks one language. */
export function speechOf(language: Language) {
  const words = PHRASES[language];

  /** `1,234.5`. */
  function number(value: number): string {
    const [whole = '', part] = String(Math.abs(value)).split('.');
    const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, words.thousands);
    return `${value < 0 ? '−' : ''}${grouped}${part === undefined ? '' : words.decimalPoint + part}`;
  }

  /** `26 Nov`, with the year where it is another one than that of `nowMs`. */
  function day(ms: number, nowMs?: number): string {
    const date = new Date(ms);
    const shown = words.day(date.getUTCDate(), words.months[date.getUTCMonth()] ?? '');
    const year = date.getUTCFullYear();
    const isPlain = nowMs !== undefined && new Date(nowMs).getUTCFullYear() === year;
    return isPlain ? shown : `${shown} ${year}`;
  }

  const clock = (ms: number, { seconds = false } = {}) =>
    new Date(ms).toISOString().slice(11, seconds ? 19 : 16);

  /** `14:05 UTC`, with the day where it is another one than that of `nowMs`. */
  function time(text: string, nowMs: number, options: { seconds?: boolean } = {}): string {
    const ms = momentOf(text);
    if (!isShown(ms)) return '?';
    const at = `${clock(ms, options)} UTC`;
    return isoDay(ms) === isoDay(nowMs) ? at : `${day(ms, nowMs)} ${at}`;
  }

  /** A length of time in its two largest units, and at least a second. */
  function length(ms: number): string {
    let left = Math.max(1, Math.round(ms / 1000) || 0);
    const parts: string[] = [];
    for (const { name, seconds } of UNITS) {
      const count = Math.floor(left / seconds);
      if (count > 0) parts.push(`${number(count)} ${words.units[name][count === 1 ? 0 : 1]}`);
      if (parts.length > 0 && (count === 0 || parts.length === 2)) break;
      left -= count * seconds;
    }
    return parts.join(' ');
  }

  return {
    words,
    number,
    time,
    length,
    percent: (percent: number) => `${number(percent)} %`,
    /** `120 ms`, `2.4 s`. */
    responseTime(ms: number): string {
      // Escaped, since it stands in Markdown.
      if (ms < 0.5) return '\\<1 ms';
      if (ms < 999.5) return `${number(Math.round(ms))} ms`;
      const seconds = ms < 9_950 ? (ms / 1000).toFixed(1) : String(Math.round(ms / 1000));
      return `${seconds.replace('.', words.decimalPoint)} s`;
    },
    /** `on 26 Nov 2026 (UTC)`, `from 20 Nov 2026 09:30 UTC to 27 Nov 2026 09:30 UTC`. */
    span(from: string, to: string): string {
      const [fromMs, toMs] = [momentOf(from), momentOf(to)];
      if (!isShown(fromMs) || !isShown(toMs)) return '?';
      const lastMs = toMs - 1;
      if (fromMs % DAY_MS === 0 && toMs % DAY_MS === 0) {
        if (isoDay(fromMs) === isoDay(lastMs)) return `${words.onDay(day(fromMs))} (UTC)`;
        return `${words.fromTo(day(fromMs, lastMs), day(lastMs))} (UTC)`;
      }
      const at = (ms: number) => `${day(ms)} ${clock(ms)} UTC`;
      return words.fromTo(at(fromMs), at(toMs));
    },
    /** `since 14:05 UTC (3 hours)`. */
    since(from: string, nowMs: number): string {
      const ms = momentOf(from);
      if (!isShown(ms)) return `${words.since} ?`;
      return `${words.since} ${time(from, nowMs)} (${length(nowMs - ms)})`;
    },
  };
}

/** Unix milliseconds; a time without a zone is UTC. NaN where it is no time. */
export const momentOf = (text: string) =>
  Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);

const isShown = (ms: number) => Math.abs(ms) <= 8.64e15;
