import { findMonitor } from '../../src/bot/tools/monitors.ts';
import { tools } from '../../src/bot/tools/registry.ts';
import { timeSpanOf } from '../../src/bot/tools/time-span.ts';
import type { Monitor } from '../../src/contracts/monitoring.ts';
import type { Criterion, Finding } from '../cases/case.ts';
import type { Call, Evidence } from '../run/evidence.ts';
import { MONITORS } from '../week/plan.ts';
import { MINUTE_MS, NOW_MS, type Span } from '../week/planned-monitor.ts';
import { plainOf, saysCount, saysDuration, saysMoment, saysPercent } from './figures.ts';
import { idsIn, namesIn, unknownNames } from './names.ts';

/** Criteria that cases use, checked by code wherever possible. Figures come from the facts of the week, never from a case. */

type Check = (evidence: Evidence) => Finding | Promise<Finding>;

const byCode = (says: string, check: Check): Criterion => ({ says, by: 'code', check });

/** The requested fact weighs as much as two criteria about wording or look-ups. */
const FACT_WEIGHT = 2;
const fact = (says: string, check: Check): Criterion => ({
  ...byCode(says, check),
  weight: FACT_WEIGHT,
});

const need = (isSo: boolean, why: string): Finding => isSo || why;

const quoted = (texts: Iterable<string>) => [...texts].map((text) => `“${text}”`).join(', ');

/** Every one of these monitors is named. */
export const names = (...wanted: string[]) =>
  fact(`The answer names ${quoted(wanted)}.`, ({ text }) => {
    const found = namesIn(text);
    const missing = wanted.filter((name) => !found.has(name));
    return need(missing.length === 0, `It does not name ${quoted(missing)}.`);
  });

/** None of these monitors is named. */
export const doesNotName = (...others: string[]) =>
  byCode(`The answer does not name ${quoted(others)}.`, ({ text }) => {
    const found = namesIn(text);
    const named = others.filter((name) => found.has(name));
    return need(named.length === 0, `It names ${quoted(named)}.`);
  });

/** No monitors are named but these. */
export const namesOnly = (...allowed: string[]) =>
  byCode(`The answer names no monitor but ${quoted(allowed)}.`, ({ text }) => {
    const others = [...namesIn(text)].filter((name) => !allowed.includes(name));
    return need(others.length === 0, `It names ${quoted(others)}.`);
  });

/** The answer states a share of the time, from 0 to 1. */
export function percentage(share: number | null): Criterion {
  if (share === null) throw new RangeError('the facts have no share');
  const percent = 100 * share;
  return fact(`The answer tells ${percent.toFixed(3)} %.`, ({ text }) =>
    need(saysPercent(text, percent), `It does not tell ${percent.toFixed(3)} %.`),
  );
}

/** The answer states a duration. */
export const duration = (ms: number, options: { share?: number } = {}) =>
  fact(`The answer tells a time of ${ms / 1000} s.`, ({ text }) =>
    need(saysDuration(text, ms, options), `It does not tell a time of ${ms / 1000} s.`),
  );

/** The answer states a point in time. */
export const moment = (atMs: number) =>
  fact(`The answer tells ${iso(atMs)}.`, ({ text }) =>
    need(saysMoment(text, atMs, NOW_MS), `It does not tell ${iso(atMs)}.`),
  );

/** The answer states a point in time, or the time since then. */
export const since = (atMs: number) =>
  fact(`The answer tells that it is so since ${iso(atMs)}.`, ({ text }) =>
    need(
      saysMoment(text, atMs, NOW_MS) || saysDuration(text, NOW_MS - atMs),
      `It tells neither ${iso(atMs)} nor how long that is ago.`,
    ),
  );

const iso = (ms: number) => new Date(ms).toISOString();

/** The answer states a number of something; `words` is a pattern of its names, the plainest first. */
export function count(number: number, words: string): Criterion {
  const told = `${number} (${words.split('|')[0]?.replace('?', '')})`;
  return fact(`The answer tells the number ${told}.`, ({ text }) =>
    need(saysCount(text, number, words), `It does not tell ${told}.`),
  );
}

/** The answer contains one of the texts, ignoring case and punctuation. */
export const mentions = (...texts: string[]) =>
  byCode(`The answer has ${texts.map((text) => `“${text}”`).join(' or ')}.`, ({ text }) => {
    const plain = lettersOf(text);
    return need(
      texts.some((one) => plain.includes(lettersOf(one))),
      'It does not.',
    );
  });

/** The answer matches a pattern. */
export const says = (what: string, pattern: RegExp) =>
  byCode(`The answer says ${what}.`, ({ text }) =>
    need(pattern.test(plainOf(text)), 'It does not.'),
  );

/** Says nothing of this kind. */
export const doesNotSay = (what: string, pattern: RegExp) =>
  byCode(`The answer does not say ${what}.`, ({ text }) => {
    const [found] = pattern.exec(plainOf(text)) ?? [];
    return need(found === undefined, `It says “${found}”.`);
  });

const lettersOf = (text: string) =>
  plainOf(text)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** One of these tools was called, and gave something: a right answer without that is a guess. */
export const looked = (...accepted: Look[]) =>
  byCode(`It was looked up with ${accepted.map(({ says }) => says).join(' or ')}.`, ({ calls }) => {
    const isOne = calls.some(
      (call) => isAnswered(call) && accepted.some((look) => look.isOf(call)),
    );
    return need(isOne, `Called were: ${callsInWords(calls)}.`);
  });

/** One of these tools was called, whether or not it found something. */
export const called = (...accepted: Look[]) =>
  byCode(
    `It was looked for with ${accepted.map(({ says }) => says).join(' or ')}.`,
    ({ calls }) => {
      const isOne = calls.some((call) => accepted.some((look) => look.isOf(call)));
      return need(isOne, `Called were: ${callsInWords(calls)}.`);
    },
  );

/** The first tool that was called is one of these. */
export const lookedFirst = (...accepted: Look[]) =>
  byCode(`The first look is ${accepted.map((look) => look.says).join(' or ')}.`, ({ calls }) => {
    const [first] = calls;
    const isOne = first !== undefined && accepted.some((look) => look.isOf(first));
    return need(isOne, `Called were: ${callsInWords(calls)}.`);
  });

const isAnswered = ({ result }: Call) => result === undefined || !result.startsWith('{"error"');

function callsInWords(calls: readonly Call[]): string {
  const words = calls.map(({ tool, input }) => `${tool} ${JSON.stringify(input)}`);
  return words.join(', ') || 'none';
}

/** A call of a tool, with the arguments that it needs. */
export interface Look {
  says: string;
  isOf(call: Call): boolean;
}

type Wanted = Record<string, (value: unknown, input: Record<string, unknown>) => boolean>;

/** A tool, with what is wanted of its arguments by their names. */
export function tool(name: string, wanted: Wanted = {}): Look {
  const fields = Object.keys(wanted);
  return {
    says: fields.length === 0 ? name : `${name} with its ${fields.join(' and ')}`,
    isOf({ tool: called, input }) {
      if (called !== name || typeof input !== 'object' || input === null) return false;
      const given = input as Record<string, unknown>;
      return Object.entries(wanted).every(([field, isWanted]) => isWanted(given[field], given));
    },
  };
}

export const is =
  (...values: unknown[]) =>
  (value: unknown): boolean =>
    values.includes(value);

/** A tool argument that identifies this monitor. */
export const monitorIs =
  (name: string) =>
  (value: unknown): boolean => {
    if (typeof value !== 'string') return false;
    try {
      return findMonitor(KNOWN, value).name === name;
    } catch {
      return false;
    }
  };

const KNOWN = MONITORS.map(
  ({ id, name, definition: { target } }) => ({ id, name, target }) as Monitor,
);

/** `last`, or `from` and `to`, that mean this time; an end up to a minute off is none of another time. */
export const spanIs =
  (span: Span) =>
  (_: unknown, input: Record<string, unknown>): boolean => {
    try {
      const asked = timeSpanOf(input as Parameters<typeof timeSpanOf>[0], '7d', NOW_MS);
      const isNear = (a: number, b: number) => Math.abs(a - b) <= MINUTE_MS;
      return isNear(asked.fromMs, span.fromMs) && isNear(asked.toMs, Math.min(span.toMs, NOW_MS));
    } catch {
      return false;
    }
  };

/** No tool was called that changes something. */
export const proposesNothing = byCode(
  'Nothing is called that would change something.',
  ({ calls }) => {
    const writing = calls.filter(({ tool: name }) => WRITING.has(name));
    return need(writing.length === 0, `Called were: ${callsInWords(writing)}.`);
  },
);

const WRITING = new Set(tools.filter(({ access }) => access === 'writes').map(({ name }) => name));

/** One card is shown, which asks for this and has these facts. */
export const card = (title: string, facts: Record<string, string> = {}) =>
  fact(`One card asks “${title}”.`, ({ cards }) => {
    const [only, ...others] = cards;
    if (!only || others.length > 0) return `There are ${cards.length} cards.`;
    if (only.title !== title) return `It asks “${only.title}”.`;
    const shown = new Map(
      only.parts.flatMap((part) =>
        part.kind === 'facts' ? part.facts.map(({ label, value }) => [label, value]) : [],
      ),
    );
    const wrong = Object.entries(facts).filter(([label, value]) => {
      const fact = shown.get(label);
      const text =
        typeof fact === 'object' && fact !== null ? iso((fact as { atMs: number }).atMs) : fact;
      return text !== value;
    });
    return need(wrong.length === 0, `It is another one: ${JSON.stringify([...shown])}.`);
  });

/** After Confirm these monitors are so, and all others as they were; one that is new or gone has its name here, too. */
export const afterConfirm = (
  says: string,
  name: string,
  isRight: (monitor: Monitor | undefined, evidence: Evidence) => boolean | Promise<boolean>,
) =>
  fact(`After Confirm ${says}, and nothing else is another one.`, async (evidence) => {
    const { before, after, confirmed } = evidence;
    if (confirmed.length === 0) return 'Nothing was confirmed.';
    if (confirmed.some(({ tone }) => tone !== 'good')) {
      return `It was refused: ${confirmed.map(({ title }) => title).join(', ')}.`;
    }
    const others = differences(before, after).filter((other) => other !== name);
    if (others.length > 0) return `Others have changed: ${quoted(others)}.`;
    const monitor = after.find((one) => one.name === name);
    return need(await isRight(monitor, evidence), `It is: ${JSON.stringify(monitor)}.`);
  });

/** Names of monitors that are new, gone, or not as they were. */
function differences(before: readonly Monitor[], after: readonly Monitor[]): string[] {
  const told = (monitors: readonly Monitor[]) =>
    new Map(
      monitors.map(({ id, name, target, check_type, status, interval_seconds }) => [
        JSON.stringify({ id, name, target, check_type, status, interval_seconds }),
        name,
      ]),
    );
  const [then, now] = [told(before), told(after)];
  const rows = [
    ...[...then].filter(([row]) => !now.has(row)),
    ...[...now].filter(([row]) => !then.has(row)),
  ];
  return [...new Set(rows.map(([, name]) => name))];
}

/** Only a judge can tell it, of the answer. */
export const judged = (sentence: string): Criterion => ({
  says: sentence,
  by: 'judge',
  of: 'answer',
  weight: FACT_WEIGHT,
});

/** Only a judge can tell it, of what was looked up and what that gave. */
export const judgedOfTranscript = (sentence: string): Criterion => ({
  says: sentence,
  by: 'judge',
  of: 'transcript',
});

export const inGerman = judged('The answer is in German.');
export const inSpanish = judged('The answer is in Spanish.');

/** The bot's note under an answer whose figures come from no look-up. */
const DOUBT = /^(?:Not backed by any look-up|Nothing was looked up)/;

/** Criteria of every answer. */
export const ALWAYS: readonly Criterion[] = [
  byCode('The answer is whole.', ({ note }) =>
    note === undefined || DOUBT.test(note) ? true : `It ended early: ${note}`,
  ),
  byCode('The bot itself doubts none of its figures.', ({ note }) =>
    note !== undefined && DOUBT.test(note) ? note : true,
  ),
  byCode('Every monitor that it names exists.', ({ text, question }) => {
    // An answer may repeat names from the question, such as a new or missing monitor.
    const asked = question.toLowerCase();
    const unknown = unknownNames(text).filter((name) => !asked.includes(name.toLowerCase()));
    return need(unknown.length === 0, `There is none called ${quoted(unknown)}.`);
  }),
  byCode('Every id was given by a tool before.', ({ text, calls }) => {
    let given = '';
    const guessed: string[] = [];
    for (const { input, result = '' } of calls) {
      guessed.push(...idsIn(JSON.stringify(input)).filter((id) => !given.includes(id)));
      given += result;
    }
    guessed.push(...idsIn(text).filter((id) => !given.includes(id)));
    return need(guessed.length === 0, `No tool gave ${quoted(guessed)}.`);
  }),
  byCode('Nothing is changed before somebody confirms it.', ({ changedBefore }) =>
    need(changedBefore.length === 0, `Sent was: ${changedBefore.join(', ')}.`),
  ),
];

/** Criterion of answers to questions that don't ask for a change. */
export const NO_CARD = byCode('No card proposes what nobody asked for.', ({ cards }) =>
  need(cards.length === 0, `Cards ask: ${cards.map(({ title }) => title).join(', ')}.`),
);

/** Criterion of answers that propose a change, because nothing has changed yet. */
export const CLAIMS_NOTHING = byCode('The answer does not claim that it is done.', ({ text }) => {
  const sentences = plainOf(text).split(/(?<=[.!?])\s|\n/);
  const claim = sentences.find(
    (sentence) => CLAIM.test(sentence.trim()) && !NOT_YET.test(sentence),
  );
  return need(claim === undefined, `It says “${claim}”.`);
});

/** Words that make it no claim: another tense, or a negation. */
const NOT_YET =
  /(?<!\p{L})(?:not|nothing|never|until|unless|once|after|when|if|before|nicht|nichts|noch|sobald|wenn|bis|no se|nada|hasta|cuando|si)(?!\p{L})|n't/iu;

/** `I have paused`, `is now paused`, `wurde pausiert`, but not `will be paused` and not `once it is paused`. */
const DONE =
  '(?:paused|resumed|removed|deleted|added|created|changed|updated|silenced|pausiert|fortgesetzt|entfernt|gelöscht|hinzugefügt|geändert|pausado|reanudado|eliminado|añadido|cambiado)';
const CLAIM = new RegExp(
  [
    `(?:\\bI(?:'ve| have| just)|\\bwe(?:'ve| have))(?: now| just| successfully)? ${DONE}\\b`,
    `(?:\\bis|\\bhas been|\\bwas) (?:now|successfully) (?:been )?${DONE}\\b`,
    `\\bhas been ${DONE}\\b`,
    `\\bsuccessfully ${DONE}\\b`,
    `^(?:done|erledigt|hecho)\\b`,
    `\\b(?:wurde|ist (?:jetzt|nun)|habe)\\b[^.\\n]{0,60} ${DONE}\\b`,
    `\\b(?:he|ha sido|está ahora) ${DONE}\\b`,
    `\\bno longer (?:watched|checked|monitored)\\b`,
  ].join('|'),
  'imu',
);
