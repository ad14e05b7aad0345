import { median } from '../shared/passes.ts';
import { NOISY_CORES, type Reading } from '../shared/reading.ts';
import { figure } from '../shared/table.ts';
import type { Measure } from './measures.ts';

/** Who is measured; in the middle the upstream, so that it stands beside both others in every pass. */
export const SUBJECTS = ['reference', 'alone', 'askwatch'] as const;
export type Subject = (typeof SUBJECTS)[number];

/** What one pass read of one cell. */
export type PassReadings = Partial<Record<Subject, Reading>>;

export const HEADER = ['measure', 'reference', 'askwatch', 'result', 'goal', ''];

/** A reference that uses less of its core than this could have answered more. */
const BUSY_CORES = 0.9;

/** The row of a measure: medians over the passes, and of what is compared the median of the comparisons in each pass. */
export function rowOf(
  measure: Measure,
  passes: readonly PassReadings[],
  note: (text: string) => void,
): string[] {
  const { name, title, unit, compare, goal } = measure;
  const over = (figureOf: (pass: PassReadings) => number) => median(passes.map(figureOf));
  const of = (subject: Subject) => (pass: PassReadings) => {
    const reading = pass[subject];
    if (!reading) throw new Error(`There is no figure of ${subject} for ${name}.`);
    return measure.of(reading);
  };
  const added = (subject: Subject) => over((pass) => of(subject)(pass) - of('alone')(pass));

  const result = {
    ratio: () => over((pass) => of('askwatch')(pass) / of('reference')(pass)),
    added: () => added('askwatch'),
    itself: () => over(of('askwatch')),
  }[compare]();
  const written = (value: number) =>
    ({
      ratio: `${value.toFixed(2)}x`,
      added: `${value < 0 ? '' : '+'}${value.toFixed(2)} ${unit}`,
      itself: `${figure(value)} ${unit}`,
    })[compare];

  if (compare === 'added') {
    const alone = `${figure(over(of('alone')))} ${unit}`;
    note(
      `${name}: the upstream alone takes ${alone}, the reference adds ${written(added('reference'))}.`,
    );
  }
  const busyCores = over(({ reference }) => reference?.targetCores ?? 0);
  if (name === 'requests' && busyCores < BUSY_CORES) {
    note(
      `${name}: the reference used ${figure(busyCores)} of its core, so the load or others limited it: the ratio flatters.`,
    );
  }
  const noisy = passes.filter((pass) =>
    Object.values(pass).some(({ foreignCores }) => foreignCores > NOISY_CORES),
  ).length;
  if (noisy > 0) {
    note(
      `* ${name}: others used more than ${NOISY_CORES} cores in ${noisy} of ${passes.length} passes.`,
    );
  }

  const [limit, fits, sign, miss] =
    'atMost' in goal
      ? ([goal.atMost, result <= goal.atMost, '<=', 'over'] as const)
      : ([goal.atLeast, result >= goal.atLeast, '>=', 'under'] as const);
  return [
    title,
    `${figure(over(of('reference')))} ${unit}`,
    `${figure(over(of('askwatch')))} ${unit}`,
    `${noisy > 0 ? '*' : ''}${written(result)}`,
    `${sign} ${written(limit)}`,
    // Where others disturbed most passes, the figure is no verdict.
    `${fits ? 'ok' : miss}${noisy > passes.length / 2 ? '?' : ''}`,
  ];
}
