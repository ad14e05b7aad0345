import type { Card } from '../../src/bot/shared/card.ts';
import { MONITORS } from './plan.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, NOW_MS } from './planned-monitor.ts';

// Criteria for answers in English Markdown. They check facts and leave the wording open.

/** An answer as a person sees it. */
export interface PlainAnswer {
  text: string;
  cards: Card[];
  /** Changes that wait to be confirmed. */
  proposals: PlainProposal[];
}

export interface PlainProposal {
  tool: string;
  /** Input of the tool; absent if only the stored draft is known. */
  input?: Record<string, unknown>;
  draft?: Record<string, unknown>;
}

/** Undefined if it holds, else a sentence that says what is wrong. */
export type Criterion = (answer: PlainAnswer) => string | undefined;

/** Rows of a list in an answer. */
const MAX_ROWS = 10;

const NAMES = new Set(MONITORS.map(({ name }) => name));
const STAGES = ['UP', 'DOWN', 'DEGRADED', 'PAUSED', 'MAINTENANCE'] as const;
type Stage = (typeof STAGES)[number];

/** Words for a status. */
const STAGE_WORDS: Record<Stage, string> = {
  UP: 'up|ok|okay|fine|healthy|running|online|working|reachable',
  DOWN: 'down|unreachable|offline|failing|broken',
  DEGRADED: 'degraded|slow',
  PAUSED: 'paused',
  MAINTENANCE: 'maintenance',
};

export const all =
  (...criteria: Criterion[]): Criterion =>
  (answer) =>
    criteria.map((criterion) => criterion(answer)).find((wrong) => wrong !== undefined);

/** One of several sensible readings. */
export const or =
  (...criteria: Criterion[]): Criterion =>
  (answer) => {
    const wrong = criteria.map((criterion) => criterion(answer));
    return wrong.includes(undefined) ? undefined : [...new Set(wrong)].join(' Or: ');
  };

const criterion =
  (isMet: (plain: string, answer: PlainAnswer) => boolean, wrong: string): Criterion =>
  (answer) =>
    isMet(plainOf(answer.text), answer) ? undefined : wrong;

/** Every text is in the answer. */
export const says = (...texts: Array<string | RegExp>): Criterion =>
  all(...texts.map((text) => criterion((plain) => isIn(plain, text), `It lacks ${text}.`)));

export const doesNotSay = (...texts: Array<string | RegExp>): Criterion =>
  all(...texts.map((text) => criterion((plain) => !isIn(plain, text), `It says ${text}.`)));

/** The answer may leave the word Yes out, but not say No. */
export const yes = criterion((plain) => !/^(no|nothing|none)\b/i.test(plain), 'It begins with No.');
export const no = criterion((plain) => !/^yes\b/i.test(plain), 'It begins with Yes.');

/** The first status in the answer, apart from negated ones. */
export const is = (name: string, stage: Stage): Criterion =>
  all(
    names([name]),
    criterion((_, { text }) => firstStage(text) === stage, `It doesn't say that it is ${stage}.`),
  );

/** The first percentage is this share, 0 to 1. */
export const percent = (share: number | null): Criterion =>
  criterion(
    (plain) => isPercent(percentagesIn(plain)[0], share),
    `The first percentage isn't ${inPercent(share)}.`,
  );

/** All of these shares are in the answer. */
export const percents = (...shares: Array<number | null>): Criterion =>
  all(
    ...shares.map((share) =>
      criterion(
        (plain) => percentagesIn(plain).some((one) => isPercent(one, share)),
        `It lacks ${inPercent(share)}.`,
      ),
    ),
  );

/** A duration of the answer is within 2 %, or within one of the second unit. */
export const lasting = (ms: number): Criterion =>
  criterion(
    (plain) =>
      durationsIn(plain).some(
        ({ ms: said, stepMs }) => Math.abs(said - ms) <= Math.max(0.02 * ms, stepMs),
      ),
    `It lacks a duration of ${Math.round(ms / 1_000)} s.`,
  );

/** A moment, to the minute; with its day unless that is today. */
export function at(ms: number): Criterion {
  const minutes = [Math.floor(ms / MINUTE_MS), Math.round(ms / MINUTE_MS)];
  const clocks = minutes.map((minute) => new Date(minute * MINUTE_MS).toISOString().slice(11, 16));
  const isToday = Math.floor(ms / DAY_MS) === Math.floor(NOW_MS / DAY_MS);
  return all(says(new RegExp(`\\b(${clocks.join('|')})`)), ...(isToday ? [] : [on(ms)]));
}

/** A day. */
export function on(ms: number): Criterion {
  const day = new Date(ms);
  const short = (part: 'month' | 'weekday') =>
    day.toLocaleString('en', { [part]: 'short', timeZone: 'UTC' });
  const [month, weekday, date] = [short('month'), short('weekday'), day.getUTCDate()];
  const isYesterday = Math.floor(NOW_MS / DAY_MS) - Math.floor(ms / DAY_MS) === 1;
  const ways = [
    day.toISOString().slice(0, 10),
    `\\b${date}\\.? ${month}`,
    `\\b${month}[a-z]* ${date}\\b`,
    ...(Math.abs(NOW_MS - ms) < 7 * DAY_MS ? [`\\b${weekday}[a-z]*day\\b`] : []),
    ...(isYesterday ? ['\\byesterday\\b'] : []),
  ];
  return says(new RegExp(ways.join('|'), 'i'));
}

/** A response time of the answer is one of these, within 2 %. */
export const takes = (...anyMs: Array<number | null>): Criterion =>
  criterion(
    (plain) =>
      anyMs.some((ms) => ms !== null && responseTimesIn(plain).some((said) => isNear(said, ms))),
    `It lacks a response time of ${anyMs.join(' or ')} ms.`,
  );

/** The first number of the direct answer, without times and durations; without a number, the monitors it names count. */
export const counted = (count: number): Criterion =>
  criterion(
    (_, { text }) => countIn(text) === count,
    `The number of its direct answer isn't ${count}.`,
  );

/** All of these are bold, or as many of them and of `others` as a list has rows. */
export const names = (wanted: readonly string[], others: readonly string[] = []): Criterion =>
  criterion(
    (_, { text }) => {
      const found = boldNames(text);
      const rows = rowNames(text).filter((name) => [...wanted, ...others].includes(name));
      return wanted.every((name) => found.has(name)) || rows.length >= MAX_ROWS;
    },
    `It doesn't name ${wanted.slice(0, MAX_ROWS).join(', ')}.`,
  );

/** The first monitor that is bold. */
export const namesFirst = (name: string): Criterion =>
  criterion((_, { text }) => [...boldNames(text)][0] === name, `It doesn't name ${name} first.`);

/** No monitor is bold but these. */
export const namesOnly =
  (allowed: readonly string[]): Criterion =>
  ({ text }) => {
    const others = [...boldNames(text)].filter((name) => !allowed.includes(name));
    return others.length === 0 ? undefined : `It names ${others.join(', ')}.`;
  };

/** A tool with these inputs, and nothing else, waits to be confirmed. Names, times in ms and targets may be written otherwise. */
export const proposes =
  (tool: string, wanted: Record<string, string | number>): Criterion =>
  ({ proposals }) => {
    const [proposal, ...others] = proposals;
    if (!proposal || others.length > 0) return `It proposes ${proposals.length} changes, not 1.`;
    if (proposal.tool !== tool) return `It proposes ${proposal.tool}, not ${tool}.`;
    const missing = Object.entries(wanted).find(
      ([field, value]) => !valuesOf(proposal, field).some((one) => isSame(field, one, value)),
    );
    return missing && `It proposes another ${missing[0]} than ${missing[1]}.`;
  };

export const proposesNothing: Criterion = ({ proposals }) =>
  proposals.length === 0 ? undefined : `It proposes ${proposals[0]?.tool}.`;

/** Pauses for good, not until a time. */
export const hasNoEnd: Criterion = ({ proposals }) =>
  proposals.some((proposal) => valuesOf(proposal, 'until').length > 0)
    ? 'It proposes an end.'
    : undefined;

/** It asks back, and names these, or at least three of many. */
export const asksWhich = (candidates: readonly string[]): Criterion =>
  all(
    criterion(
      (plain, { cards }) => /\?|\bwhich\b|did you mean/i.test(`${plain} ${buttonsOf(cards)}`),
      'It asks nothing.',
    ),
    criterion(
      (_, { text, cards }) => {
        const found = new Set([...boldNames(text), ...buttonsOf(cards)]);
        const named = candidates.filter((name) => found.has(name)).length;
        return named >= (candidates.length > 5 ? 3 : candidates.length);
      },
      `It doesn't offer ${candidates.slice(0, 5).join(', ')}.`,
    ),
    namesOnly(candidates),
    proposesNothing,
  );

/** It says that a language model is needed, and no fact about a monitor. */
export const declines: Criterion = all(
  says(/\bmodel\b/i, /\b(can['’]?t|cannot|couldn['’]t|unable|don['’]t|didn['’]t|need|only)\b/i),
  namesOnly([]),
  doesNotSay(/\d ?%/, /\d\d:\d\d UTC/, /\d ?ms\b/, /\d+ (monitors?|incidents?|outages?)\b/),
  doesNotSay(/\b(UP|DOWN|DEGRADED|PAUSED|MAINTENANCE)\b/),
  proposesNothing,
);

/** Without Markdown. */
function plainOf(text: string): string {
  return text
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\\(.)|\*\*|`/g, '$1')
    .trim();
}

const isIn = (plain: string, text: string | RegExp) =>
  typeof text === 'string' ? plain.includes(text) : text.test(plain);

const BOLD = /\*\*(.+?)\*\*/g;

function boldNames(text: string): Set<string> {
  const bold = [...text.matchAll(BOLD)].map(([, inside = '']) => plainOf(inside));
  return new Set(bold.filter((name) => NAMES.has(name)));
}

/** The first monitor of each row of a list. */
const rowNames = (text: string): string[] =>
  text.split('\n').flatMap((line) => (isRow(line) ? [...boldNames(line)].slice(0, 1) : []));

const isRow = (line: string) => /^\s*([-*•]|\d+\.) /.test(line);

/** Up to the first list. */
function headOf(text: string): string {
  const lines = text.split('\n');
  const end = lines.findIndex(isRow);
  return end > 0 ? lines.slice(0, end).join('\n') : text;
}

/** Without the monitors it names: a name may contain any word. */
const withoutNames = (text: string) =>
  plainOf(text.replace(BOLD, (bold, inside) => (NAMES.has(plainOf(inside)) ? ' ' : bold)));

function firstStage(text: string): Stage | undefined {
  const plain = withoutNames(text);
  const found = STAGES.flatMap((stage) =>
    [...plain.matchAll(new RegExp(`\\b(${STAGE_WORDS[stage]})\\b`, 'gi'))]
      .filter(({ index }) => !/(\bnot|\bno longer|n['’]t)\s+(in\s+)?$/i.test(plain.slice(0, index)))
      .map(({ index }) => ({ stage, index })),
  );
  return found.sort((a, b) => a.index - b.index)[0]?.stage;
}

const inPercent = (share: number | null) => `${(100 * (share ?? Number.NaN)).toFixed(3)} %`;
const percentagesIn = (plain: string) =>
  [...plain.matchAll(/(\d+(?:\.\d+)?) ?%/g)].map(([, digits]) => Number(digits));
const isPercent = (said: number | undefined, share: number | null) =>
  said !== undefined && share !== null && Math.abs(said - 100 * share) < 0.010_001;

const UNIT_MS = { d: DAY_MS, h: HOUR_MS, m: MINUTE_MS, s: 1_000 };
const UNITS = 'days?|d|hours?|h|minutes?|mins?|m|seconds?|secs?|s';
const DURATION = new RegExp(
  `(?<![\\d.,:])(\\d+) ?(${UNITS})\\b(?:,? (?:and )?(\\d+) ?(${UNITS})\\b)?`,
  'gi',
);
const unitMs = (unit: string) => UNIT_MS[unit.charAt(0).toLowerCase() as keyof typeof UNIT_MS];

/** Durations with the size of their second unit. */
function durationsIn(plain: string): Array<{ ms: number; stepMs: number }> {
  const sizes = Object.values(UNIT_MS);
  return [...plain.matchAll(DURATION)].map(([, count, unit = '', more, nextUnit]) => {
    const firstMs = unitMs(unit);
    const nextMs = nextUnit === undefined ? 0 : unitMs(nextUnit);
    const stepMs = sizes[sizes.indexOf(firstMs) + 1] ?? firstMs;
    return { ms: Number(count) * firstMs + Number(more ?? 0) * nextMs, stepMs };
  });
}

/** In ms, with half of their last digit. */
const responseTimesIn = (plain: string) =>
  [...plain.matchAll(/(?<![\d:])(\d[\d,]*(?:\.\d+)?) ?(ms|s|seconds?)\b/g)].map(
    ([, digits = '', unit]) => {
      const factor = unit === 'ms' ? 1 : 1_000;
      const decimals = digits.split('.')[1]?.length ?? 0;
      const ms = Number(digits.replaceAll(',', '')) * factor;
      return { ms, stepMs: (factor * 0.51) / 10 ** decimals };
    },
  );
const isNear = (said: { ms: number; stepMs: number }, ms: number) =>
  Math.abs(said.ms - ms) <= Math.max(0.02 * ms, said.stepMs);

const MONTH = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*';
/** Numbers that count nothing. */
const NO_COUNT = new RegExp(
  [
    '\\d{4}-\\d\\d-\\d\\d',
    `\\b\\d{1,2}\\.? ${MONTH}(?: \\d{4})?`,
    `\\b${MONTH} \\d{1,2}\\b(?:, \\d{4})?`,
    '\\b\\d\\d:\\d\\d(?::\\d\\d)?',
    `\\b\\d+ ?(?:ms|weeks?|months?|${UNITS})\\b`,
    '\\d+(?:\\.\\d+)? ?%',
  ].join('|'),
  'gi',
);
const NUMBERS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ');
const COUNT = new RegExp(
  `\\b(?:\\d[\\d,]*|once|twice|${NUMBERS.join('|')}|no|none|nothing|never|not|[a-z]+n['’]t)\\b`,
  'i',
);

function countIn(text: string): number | undefined {
  const head = withoutNames(headOf(text)).replace(NO_COUNT, ' ');
  const lead = /^(yes|no)\b\s*[,.:;!–—-]\s*/i.exec(head)?.[0] ?? '';
  const [word] = COUNT.exec(head.slice(lead.length)) ?? [];
  if (word !== undefined) return numberOf(word.toLowerCase());
  const named = boldNames(text).size;
  return /^no/i.test(lead) ? 0 : named > 0 ? named : undefined;
}

function numberOf(word: string): number {
  if (/^\d/.test(word)) return Number(word.replaceAll(',', ''));
  if (word === 'once') return 1;
  return word === 'twice' ? 2 : Math.max(0, NUMBERS.indexOf(word));
}

const buttonsOf = (cards: readonly Card[]): string[] =>
  cards.flatMap(({ actions = [] }) => actions.map(({ label }) => label));

/** Other names of an input in drafts. */
const ALIASES: Record<string, string[]> = {
  interval: ['interval', 'interval_seconds', 'period_seconds'],
  until: ['until', 'untilMs'],
};

/** All values of a field, at any depth, but not what was there before. */
function valuesOf({ input, draft }: PlainProposal, field: string): unknown[] {
  const keys = ALIASES[field] ?? [field];
  const within = (value: unknown): unknown[] => {
    if (typeof value !== 'object' || value === null) return [];
    const { before: _, ...rest } = value as Record<string, unknown>;
    // A monitor's own name and target are those it has now.
    const { monitor, subject = monitor, ...others } = rest;
    const own = field === 'monitor' ? [subject] : [];
    return [
      ...own,
      ...Object.entries(others).flatMap(([key, one]) => [
        ...(keys.includes(key) ? [one] : []),
        ...within(one),
      ]),
    ].filter((one) => one !== undefined);
  };
  return [...within(input), ...within(draft)];
}

function isSame(field: string, value: unknown, wanted: string | number): boolean {
  if (field === 'monitor') return isMonitor(value, String(wanted));
  if (field === 'target') return targetOf(String(value)) === targetOf(String(wanted));
  if (field !== 'until') return value === wanted;
  const ms = typeof value === 'number' ? value : Date.parse(String(value));
  return Math.abs(ms - Number(wanted)) <= 5 * MINUTE_MS;
}

function isMonitor(value: unknown, name: string): boolean {
  const { id } = MONITORS.find((one) => one.name === name) ?? {};
  if (typeof value !== 'object') return value === id || lower(value) === lower(name);
  const of = value as { id?: unknown; name?: unknown } | null;
  return of?.id === id && of?.name === name;
}

const lower = (text: unknown) => String(text).toLowerCase();
const targetOf = (text: string) => lower(text).replace(/^https:\/\/|\/$/g, '');
