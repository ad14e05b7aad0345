import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe calls worse than an annoyance. */
const WEIGHTY = new Set<string | null | undefined>(['serious', 'critical']);

/**
 * What axe-core finds on the page as it stands now, `rule: what to do (where)` each; only what is serious or critical.
 * Empty when there is nothing.
 */
export async function findingsOf(page: Page): Promise<string[]> {
  // Evaluated, not added as a script: the page's policy lets no other script in.
  await page.evaluate(AXE);
  const { violations, passes } = (await page.evaluate('axe.run()')) as AxeResults;
  if (passes.length === 0) throw new Error('axe found nothing to look at.');
  return violations
    .filter(({ impact }) => WEIGHTY.has(impact))
    .map(
      ({ id, help, nodes }) => `${id}: ${help} (${nodes.map(({ target }) => target).join(', ')})`,
    );
}
