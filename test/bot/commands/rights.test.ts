import { expect, test } from 'vitest';
import { missing, strange } from '../../helpers/rights-table.ts';

test('the table of rights names every command, button and form that there is, and nothing else', () => {
  expect(missing().map(({ name }) => name)).toEqual([]);
  expect(strange().map(({ command }) => command)).toEqual([]);
});
