import { expect, test } from 'vitest';
import { sharesWords } from '../../../src/bot/ask/shared-words.ts';

test('finds the words of tools in a question, in another form, too', () => {
  const about = ['tickets', 'tickets__search_issues', 'Search issues', 'Finds open bugs.'];
  expect(sharesWords('which bug is oldest?', about)).toBe(false);
  expect(sharesWords('find the ticket of Ada', ['ticket__find', ...about])).toBe(true);
  expect(sharesWords('why is the sky blue', about)).toBe(false);
});
