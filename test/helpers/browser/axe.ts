import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Result } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe calls worse than an annoyance. */
const WEIGHTY = new Set<string | null | undefined>(['serious', 'critical']);

interface Findings {
  violations: Result[];
  /** How many rules found something to look at and nothing wrong. */
  passed: number;
}

/** What passed is only counted: every element of it takes longer to bring here than to look at. */
const RUN = 'axe.run().then(({ violations, passes }) => ({ violations, passed: passes.length }))';

/**
 * What axe-core finds on the page as it stands now, `rule: what to do (where)` each; only what is serious or critical.
 * Empty when there is nothing.
 */
export async function findingsOf(page: Page): Promise<string[]> {
  // Evaluated, not added as a script: the page's policy lets no other script in.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(AXE);
  const { violations, passed } = await page.evaluate<Findings>(RUN);
  if (passed === 0) throw new Error('axe found nothing to look at.');
  return violations
    .filter(({ impact }) => WEIGHTY.has(impact))
    .map(
      ({ id, help, nodes }) => `${id}: ${help} (${nodes.map(({ target }) => target).join(', ')})`,
    );
}
