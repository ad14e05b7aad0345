import { type Finding, noisyOf } from '../shared/finding.ts';
import { median } from '../shared/passes.ts';
import type { Reading } from '../shared/reading.ts';
import { figure } from '../shared/table.ts';
import type { Measure } from './measures.ts';

/** Who is measured; in the middle the upstream, so that it stands beside both others in every pass. */
export const SUBJECTS = ['reference', 'alone', 'askwatch'] as const;
export type Subject = (typeof SUBJECTS)[number];

/** What one pass read of one cell. */
export type PassReadings = Partial<Record<Subject, Reading>>;

/** A reference that uses less of its core than this could have answered more. */
const BUSY_CORES = 0.9;

/** What the passes over the cell of a measure showed. */
export function findingOf(
  measure: Measure,
  readings: readonly PassReadings[],
  note: (text: string) => void,
): Finding {
  const { name, title, unit, compare, goal } = measure;
  const passes = readings.map((pass) => {
    const of = (subject: Subject) => {
      const reading = pass[subject];
      if (!reading) throw new Error(`There is no figure of ${subject} for ${name}.`);
      return measure.of(reading);
    };
    return {
      askwatch: of('askwatch'),
      reference: of('reference'),
      ...(compare === 'added' && { base: of('alone') }),
    };
  });
  if (compare === 'added') {
    const alone = median(passes.map(({ base = Number.NaN }) => base));
    const adds = median(passes.map(({ reference, base = Number.NaN }) => reference - base));
    note(
      `${name}: the upstream alone takes ${figure(alone)} ${unit}, the reference adds ${figure(adds)} ${unit}.`,
    );
  }
  const busyCores = median(readings.map(({ reference }) => reference?.targetCores ?? 0));
  if (name === 'requests' && busyCores < BUSY_CORES) {
    note(
      `${name}: the reference used ${figure(busyCores)} of its core, so the load or others limited it: the ratio flatters.`,
    );
  }
  const foreign = readings.map((pass) =>
    Math.max(...Object.values(pass).map(({ foreignCores }) => foreignCores)),
  );
  return { name, title, unit, compare, goal, passes, noisyPasses: noisyOf(foreign) };
}
