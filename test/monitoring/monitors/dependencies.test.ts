import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MonitorCreate } from '../../../src/contracts/monitoring.ts';
import { HttpError } from '../../../src/http/errors.ts';
import { checkDependencies, withoutParent } from '../../../src/monitoring/monitors/dependencies.ts';

/** Monitors by their ids, each with what it depends on. */
function known(parents: Record<string, string[]>) {
  const definitionOf = (name: string, depends_on: string[]) =>
    MonitorCreate.parse({ name, check_type: 'HTTP', target: 'http://192.0.2.1/', depends_on });
  const all = new Map(
    Object.entries(parents).map(([id, own]) => [
      id,
      { definition: definitionOf(id.toUpperCase(), own) },
    ]),
  );
  return { get: (id: string) => all.get(id) };
}

function refusalOf(parents: string[], monitors: ReturnType<typeof known>, id?: string) {
  try {
    checkDependencies(parents, monitors, id);
  } catch (error) {
    if (error instanceof HttpError) return error.message;
    throw error;
  }
  return undefined;
}

describe('what a monitor depends on', () => {
  test('is refused when it is not there, itself, or goes round, with the way round', () => {
    const monitors = known({ a: ['b'], b: ['c'], c: [], d: ['a', 'b'] });
    expect(refusalOf(['x'], monitors)).toContain('no monitor has the ID x');
    expect(refusalOf(['a'], monitors, 'a')).toContain('cannot depend on itself');
    expect(refusalOf(['a'], monitors, 'c')).toContain('this would form a circle: C → A → B → C;');
    expect(refusalOf(['d'], monitors, 'c')).toMatch(
      /this would form a circle: C → D → (A → )?B → C;/,
    );
    expect(refusalOf(['a', 'b', 'd'], monitors)).toBeUndefined();
    expect(refusalOf(['c'], monitors, 'd')).toBeUndefined();
    expect(refusalOf(['alert:int_1/HighLoad'], monitors, 'a')).toBeUndefined();
  });

  test('never goes round, whatever is asked for', () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const id = fc.constantFrom(...ids);
    const change = fc.record({ id, parents: fc.uniqueArray(id, { maxLength: 5 }) });
    let refused = 0;
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const parents: Record<string, string[]> = Object.fromEntries(ids.map((one) => [one, []]));
        for (const { id: child, parents: wanted } of changes) {
          if (refusalOf(wanted, known(parents), child) === undefined) parents[child] = wanted;
          else refused += 1;
        }
        // In each turn, those of whom all parents are gone go: where some go round, they stay.
        let left = new Set(ids);
        for (let before = -1; before !== left.size; ) {
          before = left.size;
          left = new Set([...left].filter((one) => parents[one]?.some((own) => left.has(own))));
        }
        expect(left.size).toBe(0);
      }),
    );
    expect(refused).toBeGreaterThan(0);
  });

  test('is no more what was removed', () => {
    const monitors = known({ a: ['b', 'c'], d: ['b'] });
    const a = monitors.get('a')?.definition;
    const d = monitors.get('d')?.definition;
    expect(a && withoutParent(a, 'b').depends_on).toEqual(['c']);
    expect(d && withoutParent(d, 'b')).not.toHaveProperty('depends_on');
  });
});
