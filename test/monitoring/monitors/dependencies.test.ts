import { expect, test } from 'vitest';
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

test('is no more what was removed', () => {
  const monitors = known({ a: ['b', 'c'], d: ['b'] });
  const a = monitors.get('a')?.definition;
  const d = monitors.get('d')?.definition;
  expect(a && withoutParent(a, 'b').depends_on).toEqual(['c']);
  expect(d && withoutParent(d, 'b')).not.toHaveProperty('depends_on');
});
