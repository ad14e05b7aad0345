import { CONFIDENCE } from '../../src/bot/investigations/conclusion.ts';
import type { Card, FindingsPart } from '../../src/bot/shared/card.ts';
import type { IncidentCase } from './case.ts';
import { WRONG_ALWAYS } from './noise.ts';

/** An investigation, graded by code. */
export interface GradedInvestigation {
  isCauseRight: boolean;
  /** A fact that shows the cause is among the evidence. */
  hasEvidence: boolean;
  /** Statements in the card that no look-up backs, and a wrong cause that it is sure of. */
  falseClaims: string[];
}

type ShownCard = Pick<Card, 'title' | 'parts'>;

/** The cause that a card shows; empty if it shows none. Pure. */
export function causeIn({ title }: ShownCard): string {
  const label = Object.values(CONFIDENCE).find((one) => title.startsWith(`${one}: `));
  return label === undefined ? '' : title.slice(label.length + 2);
}

/** Texts that a card shows as evidence. Pure. */
export const evidenceIn = ({ parts }: ShownCard): string[] =>
  parts
    .filter((part): part is FindingsPart => part.kind === 'findings' && part.heading === 'Evidence')
    .flatMap(({ items }) => items.map(({ text }) => text));

const UNBACKED = 'Not backed by any look-up: ';

/** Grades a message as people see it. Pure. */
export function gradeInvestigation(
  { right, shownBy, wrong = [] }: Pick<IncidentCase, 'right' | 'shownBy' | 'wrong'>,
  card: ShownCard,
): GradedInvestigation {
  const cause = causeIn(card);
  const isWrong = [...wrong, ...WRONG_ALWAYS].some((words) => words.test(cause));
  const isSure = card.title.startsWith(CONFIDENCE.high);
  const unbacked = card.parts.flatMap((part) =>
    part.kind === 'text' && part.text.startsWith(UNBACKED)
      ? [part.text.slice(UNBACKED.length)]
      : [],
  );
  return {
    isCauseRight: !isWrong && right.every((words) => words.test(cause)),
    hasEvidence: evidenceIn(card).some((text) => shownBy.some((words) => words.test(text))),
    falseClaims: [...unbacked, ...(isWrong && isSure ? [cause] : [])],
  };
}

export const isPassed = ({ isCauseRight, hasEvidence, falseClaims }: GradedInvestigation) =>
  isCauseRight && hasEvidence && falseClaims.length === 0;
