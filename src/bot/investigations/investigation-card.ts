import type { Investigation } from '../incidents/watch-state.ts';
import { type CardPart, compact, textCard, textPart } from '../shared/card.ts';
import { plain } from '../shared/inert-markdown.ts';
import { type AnswerStep, stepInWords } from '../shared/invocation.ts';
import { shortened } from '../shared/text-format.ts';
import { CONFIDENCE, type Conclusion, textWithTime } from './conclusion.ts';
import type { FoundFact } from './found-fact.ts';
import type { InvestigationReport } from './investigate.ts';
import type { LookedUp } from './look-ups.ts';

type StoredInvestigationCard = Investigation['card'];

/** Characters of the message, without its buttons. */
export const MAX_CHARACTERS = 1_200;
const MAX_ITEM = 160;
const MAX_STEPS = 5;

const NOT_FOUND = 'No likely cause found';

export const startedCard = (steps: readonly AnswerStep[] = []): StoredInvestigationCard =>
  textCard(
    'info',
    'Looking for the cause…',
    [
      'the incident, its checks, related monitors and earlier outages',
      ...steps.slice(-MAX_STEPS).map((step) => shortened(stepInWords(step), MAX_ITEM)),
    ].join('\n'),
  );

/** The result, within `MAX_CHARACTERS`: evidence is left out from the end. Pure. */
export function concludedCard(conclusion: Conclusion, footer: string): StoredInvestigationCard {
  const { cause, confidence, evidence, ruledOut, nextStep, notSeen, unbacked } = conclusion;
  const title =
    cause === undefined ? NOT_FOUND : shortened(`${CONFIDENCE[confidence]}: ${cause}`, 200);
  const after = compact<CardPart>(
    nextStep !== undefined && textPart(`Try first: ${nextStep}`),
    notSeen.length > 0 && textPart(shortened(`Not seen: ${notSeen.join('; ')}`, 250)),
    unbacked.length > 0 &&
      textPart(shortened(`Not backed by any look-up: ${unbacked.join(', ')}`, 200)),
  );
  let left = MAX_CHARACTERS - title.length - footer.length - lengthOf(after);
  const fitting = (heading: string, items: Conclusion['evidence'], most: number): CardPart[] => {
    left -= heading.length + 1;
    const shown = items.slice(0, most).flatMap((item) => {
      const text = shortened(item.text, MAX_ITEM);
      left -= lengthOfItem({ ...item, text });
      return left < 0 ? [] : [{ ...item, text }];
    });
    return shown.length === 0 ? [] : [{ kind: 'findings', heading, items: shown }];
  };
  const parts = [
    ...fitting('Evidence', evidence, 6),
    ...fitting('Ruled out', ruledOut, 3),
    ...after,
  ];
  return { tone: 'info', title, parts, footer };
}

/** A reason why there is no conclusion, with the first facts if some were looked up. Pure. */
export function brokenCard(
  why: string,
  facts: readonly FoundFact[],
  footer?: string,
): StoredInvestigationCard {
  const items = facts.slice(0, 5).map(({ text, atMs, url }) => ({
    text: shortened(text, MAX_ITEM),
    atMs,
    url,
  }));
  return {
    tone: 'warning',
    title: facts.length === 0 ? 'Not investigated' : NOT_FOUND,
    parts: compact<CardPart>(
      textPart(shortened(why, 300)),
      items.length > 0 && { kind: 'findings', heading: 'Looked up', items },
    ),
    ...(footer && { footer }),
  };
}

/** The card of an investigation that a person turned off, with what it had found. Pure. */
export function stoppedCard({ card, state }: Investigation, by: string): StoredInvestigationCard {
  const text = textPart(`${by} turned investigations off for this incident.`);
  if (state === 'running') return { ...textCard('info', 'Investigation stopped'), parts: [text] };
  return { ...card, parts: [...card.parts, text] };
}

/** Stands for a time, such as `2026-11-26 12:00:00 UTC`, and for the host of a link, each with a space. */
const MARKS_LENGTH = 24;

const lengthOfItem = ({ text, atMs, url }: Conclusion['evidence'][number]) =>
  text.length + (atMs === undefined ? 0 : MARKS_LENGTH) + (url === undefined ? 0 : MARKS_LENGTH);

const lengthOf = (parts: readonly CardPart[]) =>
  parts.reduce((sum, part) => sum + ('text' in part ? part.text.length + 1 : 0), 0);

/** The first line of everything that comes after the conclusion. */
const LOOKED_UP = '## Looked up';

/** The whole investigation in Markdown, for its thread and as a file. Outside text makes no markup. Pure. */
export function reportText(
  { conclusion, tools }: InvestigationReport,
  { facts, missing }: LookedUp,
) {
  const { cause, confidence, evidence, ruledOut, nextStep, notSeen, unbacked } = conclusion;
  const list = (heading: string, items: readonly string[]) =>
    items.length === 0 ? [] : ['', `${heading}:`, ...items.map((item) => `- ${plain(item, 500)}`)];
  return [
    cause === undefined ? `${NOT_FOUND}.` : `**${CONFIDENCE[confidence]}**: ${plain(cause, 300)}`,
    ...list('Evidence', evidence.map(textWithTime)),
    ...list('Ruled out', ruledOut.map(textWithTime)),
    ...list('Try first', compact(nextStep)),
    ...list('Not seen', notSeen),
    ...list('Not backed by any look-up', unbacked),
    '',
    LOOKED_UP,
    '',
    ...facts.map((fact) => `- ${plain(textWithTime(fact), 500)}`),
    ...tools.map(({ title, result }) => `- ${plain(title, 200)}: ${plain(result, 1_000)}`),
    ...missing.map((what) => `- Could not be looked up: ${what}`),
  ].join('\n');
}

const MAX_LISTED = 15;

/** Facts for an answer without a model. The incident itself, `F1`, is in its summary. Pure. */
export function factsInMarkdown({ facts, missing }: LookedUp): string {
  const shown = facts.slice(1, 1 + MAX_LISTED);
  return [
    'What may explain it:',
    '',
    ...shown.map((fact) => `- ${plain(textWithTime(fact), 400)}`),
    ...missing.map((what) => `- Could not be looked up: ${what}`),
  ].join('\n');
}
