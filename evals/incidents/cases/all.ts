import { CAUSE_KINDS, type CaseOfKind, type CauseKind, type IncidentCase } from '../case.ts';
import { CERTIFICATES } from './certificates.ts';
import { CLOCKS } from './clocks.ts';
import { DEPENDENCIES } from './dependencies.ts';
import { DEPLOYS } from './deploys.ts';
import { NAMES } from './dns.ts';
import { KEYWORDS } from './keywords.ts';
import { OVERLOAD } from './overload.ts';
import { OWN_NETWORK } from './own-network.ts';

const OF_KIND: Record<CauseKind, readonly CaseOfKind[]> = {
  deploy: DEPLOYS,
  certificate: CERTIFICATES,
  dns: NAMES,
  dependency: DEPENDENCIES,
  'own-network': OWN_NETWORK,
  overload: OVERLOAD,
  'wrong-keyword': KEYWORDS,
  clock: CLOCKS,
};

export const INCIDENT_CASES: readonly IncidentCase[] = CAUSE_KINDS.flatMap((kind) =>
  OF_KIND[kind].map((one) => ({ ...one, kind })),
);

/** A run over fewer cases would prove less than it seems to, so it fails. */
const LEAST_COUNT = 40;
const LEAST_OF_KIND = 5;

/** Kinds of causes with too few cases, as sentences. Pure. */
export function missingIncidents(cases: ReadonlyArray<Pick<IncidentCase, 'kind'>>): string[] {
  const few = CAUSE_KINDS.flatMap((kind) => {
    const count = cases.filter((one) => one.kind === kind).length;
    return count < LEAST_OF_KIND ? [`There are ${count} cases of ${LEAST_OF_KIND} (${kind}).`] : [];
  });
  const isFew = cases.length < LEAST_COUNT;
  return isFew ? [`There are ${cases.length} cases of ${LEAST_COUNT} (all).`, ...few] : few;
}
