import { type Finding, noisyOf } from '../shared/finding.ts';
import { median } from '../shared/passes.ts';
import type { Reading } from '../shared/reading.ts';
import { figure } from '../shared/table.ts';
import type { Measure } from './measures.ts';

/** Measured subjects. The upstream alone is in the middle, so that it is next to two others in every pass. */
export const SUBJECTS = ['reference', 'alone', 'askwatch', 'portkey'] as const;
export type Subject = (typeof SUBJECTS)[number];

/** Readings of one pass of one cell. */
export type PassReadings = Partial<Record<Subject, Reading>>;

/** A subject that uses less of its core could have answered more requests. */
const BUSY_CORES = 0.9;

export function findingOf(
  measure: Measure,
  readings: readonly PassReadings[],
  note: (text: string) => void,
): Finding {
  const { name, title, unit, compare, goal } = measure;
  const passes = readings.map((pass) => ({
    askwatch: figureOf(measure, pass, 'askwatch'),
    reference: figureOf(measure, pass, 'reference'),
    ...(compare === 'added' && { base: figureOf(measure, pass, 'alone') }),
  }));
  if (compare === 'added') {
    const alone = median(passes.map(({ base = Number.NaN }) => base));
    const adds = median(passes.map(({ reference, base = Number.NaN }) => reference - base));
    note(
      `${name}: the upstream alone takes ${figure(alone)} ${unit}, the reference adds ${figure(adds)} ${unit}.`,
    );
  }
  if (name === 'requests') {
    const coresOf = (subject: Subject) =>
      median(readings.map((pass) => pass[subject]?.targetCores ?? 0));
    const cores = [coresOf('reference'), coresOf('askwatch')] as const;
    if (Math.min(...cores) < BUSY_CORES) {
      note(
        `${name}: the reference used ${figure(cores[0])} of its core and Askwatch ${figure(cores[1])}, so the load or others limited them; believe the CPU per request at as many connections.`,
      );
    }
  }
  return { name, title, unit, compare, goal, passes, noisyPasses: noisyPassesOf(readings) };
}

/** The same measure with Portkey's gateway as the reference. */
export function besidePortkey(measure: Measure, readings: readonly PassReadings[]): Finding {
  const { name, title, unit, portkeyGoal } = measure;
  return {
    ...{ name: `${name}-portkey`, title: `beside Portkey: ${title.split(';')[0]}`, unit },
    ...{ compare: 'ratio', goal: portkeyGoal },
    passes: readings.map((pass) => ({
      askwatch: figureOf(measure, pass, 'askwatch'),
      reference: figureOf(measure, pass, 'portkey'),
    })),
    noisyPasses: noisyPassesOf(readings),
  };
}

function figureOf(measure: Measure, pass: PassReadings, subject: Subject): number {
  const reading = pass[subject];
  if (!reading) throw new Error(`There is no figure of ${subject} for ${measure.name}.`);
  return measure.of(reading);
}

const noisyPassesOf = (readings: readonly PassReadings[]) =>
  noisyOf(
    readings.map((pass) =>
      Math.max(...Object.values(pass).map(({ foreignCores }) => foreignCores)),
    ),
  );
