import { describe, expect, test } from 'vitest';
import { readArguments } from '../../bench/arguments.ts';

const AREAS = new Map([
  ['gateway', { measures: ['cpu', 'memory'], peers: ['portkey'] }],
  ['watch', { measures: ['none'] }],
]);
const read = (line: string) => readArguments(line.split(' ').filter(Boolean), AREAS);

describe('the words after npm run bench', () => {
  test('name an area, or all of them, and how they are measured', () => {
    expect(read('gateway --only cpu --beside portkey --quick')).toEqual({
      ...{ area: 'gateway', only: 'cpu', beside: 'portkey', quick: true },
      ...{ json: false, profile: false, verbose: false },
    });
    expect(read('all --json --against before.json')).toMatchObject({
      ...{ area: 'all', json: true, against: 'before.json', quick: false },
    });
  });

  test.each([
    ['', 'An area is missing.'],
    ['monitors', "There is no area 'monitors'."],
    ['gateway watch', "One area at a time, or all of them by 'all'."],
    ['watch --only cpu', "watch has no measure 'cpu'."],
    ['all --only cpu', "all has no measure 'cpu'."],
    ['watch --beside portkey', "watch cannot be measured beside 'portkey'."],
    ['gateway --beside nginx', "gateway cannot be measured beside 'nginx'."],
    ['gateway --fast', "Unknown option '--fast'"],
    ['gateway --against', "Option '--against <value>' argument missing"],
  ])('%j is refused: %s', (line, why) => {
    expect(() => read(line)).toThrow(why);
    expect(() => read(line)).toThrow('Area gateway: cpu, memory; beside portkey\nArea watch: none');
  });
});
