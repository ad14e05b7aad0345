import { describe, expect, test } from 'vitest';
import { besidePortkey, findingOf, type PassReadings } from '../../bench/gateway/findings.ts';
import { MEASURES } from '../../bench/gateway/measures.ts';
import { isMet, resultOf } from '../../bench/shared/finding.ts';
import type { Reading } from '../../bench/shared/reading.ts';

const reading = (changes: Partial<Reading>): Reading => ({
  ...{ perSecond: 2_000, cpuUs: 400, p50Ms: 0.7, firstByteP50Ms: 21, residentMiB: 130 },
  ...{ targetCores: 1, foreignCores: 0 },
  ...changes,
});
const pass: PassReadings = {
  reference: reading({ cpuUs: 100, p50Ms: 0.4, perSecond: 8_000 }),
  alone: reading({ cpuUs: 20, p50Ms: 0.1, targetCores: 0.5 }),
  askwatch: reading({}),
  portkey: reading({ cpuUs: 1_600, p50Ms: 2.8, perSecond: 500 }),
};

function measureOf(name: string) {
  const measure = MEASURES.find((one) => one.name === name);
  if (!measure) throw new Error(`There is no measure ${name}.`);
  return measure;
}

/** The finding of some passes, and what was noted. */
function found(name: string, passes: PassReadings[]) {
  const notes: string[] = [];
  return { finding: findingOf(measureOf(name), passes, (note) => void notes.push(note)), notes };
}

describe('what passes of the gateway showed', () => {
  test('is a ratio to the pass-through, or what is added to the upstream alone', () => {
    expect(resultOf(found('cpu', [pass]).finding)).toBe(4);
    expect(resultOf(found('requests', [pass]).finding)).toBe(0.25);
    const { finding, notes } = found('latency', [pass]);
    expect(resultOf(finding)).toBeCloseTo(0.6);
    expect(notes).toEqual([
      'latency: the upstream alone takes 0.10 ms, the reference adds 0.30 ms.',
    ]);
  });

  test('has a row beside Portkey, of the figures themselves', () => {
    const cpu = besidePortkey(measureOf('cpu'), [pass]);
    expect(cpu).toMatchObject({ name: 'cpu-portkey', compare: 'ratio' });
    expect([resultOf(cpu), isMet(cpu)]).toEqual([0.25, false]);
    const cheap = { ...pass, askwatch: reading({ cpuUs: 228 }) };
    expect(isMet(besidePortkey(measureOf('cpu'), [cheap]))).toBe(true);
    const latency = besidePortkey(measureOf('latency'), [pass]);
    expect([latency.title, resultOf(latency)]).toEqual([
      ...['beside Portkey: p50 latency, 1 connection', 0.25],
    ]);
  });

  test('counts a pass as noisy when others disturbed any of its targets', () => {
    const noisy = { ...pass, reference: reading({ foreignCores: 0.3 }) };
    expect(found('cpu', [pass, noisy, noisy]).finding.noisyPasses).toBe(2);
  });

  test('tells when the load was the limit of requests a second', () => {
    const idle = { ...pass, reference: reading({ targetCores: 0.6 }) };
    expect(found('requests', [pass]).notes).toEqual([]);
    expect(found('requests', [idle]).notes).toEqual([
      'requests: the reference used 0.60 of its core and Askwatch 1.00, so the load or others limited them; believe the CPU per request at as many connections.',
    ]);
  });
});
