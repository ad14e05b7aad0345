import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { AnswerStep } from '../../../src/bot/shared/invocation.ts';
import { inBrowser } from '../../helpers/browser/in-browser.ts';
import { startGiving } from '../../helpers/console/giving-console.ts';
import { thread } from '../../helpers/console/open-page.ts';
import { openPage, say } from '../../helpers/console/open-playground.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

const URL = 'https://status.example/shop';

const running = (what: string, id = what) =>
  ({ kind: 'step', step: { id, what, state: 'running' } }) as const;
const over = (what: string, more: Partial<AnswerStep> = {}) =>
  ({ kind: 'step', step: { id: what, what, state: 'done', ...more } }) as const;

const lines = (page: Page) => thread(page).locator('.footer').allTextContents();

inBrowser('what is looked at for an answer, in the browser', () => {
  test('a look-up is shown next to the dots, then below the text, and at the end with its result and link', async () => {
    const { give, ...at } = await startGiving();
    const { page, complaints } = await openPage(at);
    await say(page, '/ask why?');
    await thread(page).getByText('Askwatch is thinking').waitFor();
    give(running('all monitors'));
    const thinking = thread(page).locator('.thinking');
    await eventuallyEquals(() => thinking.allTextContents(), ['Looking up all monitors…']);

    give(over('all monitors', { found: '2, as of 15:20 UTC' }));
    await thread(page).getByText('Askwatch is thinking').waitFor();
    give({ kind: 'text', text: 'The **Shop** ' }, running('the Shop'));
    const below = thread(page).locator('.markdown.growing + .running');
    await eventuallyEquals(() => below.allTextContents(), ['Looking up the Shop…']);
    expect(await thinking.count()).toBe(0);
    expect(await lines(page)).toEqual([]);

    give(over('the Shop', { found: 'UP', url: URL }), { kind: 'text', text: 'is up.' });
    await eventuallyEquals(() => thread(page).locator('.running').count(), 0);
    give(running('the rest'), { kind: 'end', footer: 'test-model' });
    await eventuallyEquals(
      () => lines(page),
      ['Looked up all monitors (2, as of 15:20 UTC) · the Shop (UP)', 'test-model'],
    );
    const link = thread(page).getByRole('link', { name: 'the Shop', exact: true });
    const attributes = ['href', 'target', 'rel'].map((name) => link.getAttribute(name));
    expect(await Promise.all(attributes)).toEqual([URL, '_blank', 'noopener noreferrer']);
    expect(complaints).toEqual([]);
  });
});
