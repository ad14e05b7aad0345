import { runbookAddress, shortRunbook } from '../../contracts/monitoring.ts';
import { mapSecrets, maskedTarget } from '../../contracts/secret-values.ts';
import { type Card, type Fact, linkOf } from './card.ts';
import { shortened } from './text-format.ts';

/** Types of checks whose target people can open in a browser. */
const OPENED = new Set(['HTTP', 'KEYWORD']);

/** Fits on a button, with “Open” before it. */
const MAX_HOST_LENGTH = 60;

/** The target without anything that looks like a secret. Pure. */
export function shownTarget(target: string): string {
  return maskedTarget(target).replace(/^([a-z][a-z\d+.-]*:\/\/)[^/?#]*@/i, '$1');
}

/** Empty if a target has no host. Pure. */
export function hostOf(target: string): string {
  const url = target.includes('://') ? target : `any://${target}`;
  return URL.canParse(url) ? new URL(url).hostname : '';
}

/** The runbook as a fact: a link to its address without secrets, or the beginning of its text. Empty without a runbook. Pure. */
export function runbookFacts(runbook: string | undefined): Fact[] {
  if (!runbook) return [];
  const address = runbookAddress(runbook);
  const shown = shownTarget(address ?? '');
  const value = address === undefined ? shortRunbook(runbook) : { text: shown, url: shown };
  return [{ label: 'Runbook', value }];
}

/** A link to the target, without its secrets. Pure. */
export function targetLink({
  checkType,
  target,
}: {
  checkType: string;
  target: string;
}): Card['link'] {
  const bare = mapSecrets(target, () => '');
  if (!OPENED.has(checkType.toUpperCase()) || !URL.canParse(bare)) return undefined;
  const url = new URL(bare);
  url.username = '';
  url.password = '';
  const label = `Open ${shortened(url.host, MAX_HOST_LENGTH)}`;
  return linkOf({ link: { label, url: url.href } });
}
