import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Result } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** axe's impacts that fail a test. */
const WEIGHTY = new Set<string | null | undefined>(['serious', 'critical']);

interface Findings {
  violations: Result[];
  /** The number of rules that applied and passed. */
  passed: number;
}

/** Passed rules are only counted, because transferring their elements is slow. */
const RUN = 'axe.run().then(({ violations, passes }) => ({ violations, passed: passes.length }))';

/** axe-core's serious and critical findings on the page, as `rule: what to do (where)`. */
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
