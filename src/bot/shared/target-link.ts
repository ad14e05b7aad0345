import { mapSecrets, maskedTarget } from '../../contracts/secret-values.ts';
import { type Card, linkOf } from './card.ts';
import { shortened } from './text-format.ts';

/** Kinds of check whose target is a page that people can open too. */
const OPENED = new Set(['HTTP', 'KEYWORD']);

/** What platforms take on a button, with room for “Open”. */
const MAX_HOST_LENGTH = 60;

/** The target as people may read it: what looks like a secret in it is for the check only. Pure. */
export function shownTarget(target: string): string {
  return maskedTarget(target).replace(/^([a-z][a-z\d+.-]*:\/\/)[^/?#]*@/i, '$1');
}

/** The target as something to open, without the secrets that may stand in it. Pure. */
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
