import { ErrorCode } from '../../contracts/error.ts';
import { HttpError, invalidValue as invalid } from '../../http/errors.ts';
import { literalAddress } from './address.ts';
import type { AdmissionTools } from './check-type.ts';
import { unlessAborted } from './connect.ts';
import type { NameLookup } from './name-lookup.ts';

/** How long a create waits for the name of its target; a name that takes longer is accepted and checked later. */
const LOOKUP_MS = 2_000;

/** Longest host name. Source: RFC 1035 §2.3.4. */
const MAX_HOST_NAME = 253;

/** Refuses a host, a name or a literal, that leads only to addresses which checks may not reach. */
export async function admitHost(hostname: string, { guard, lookup }: AdmissionTools) {
  const literal = literalAddress(hostname);
  const addresses = literal ? [literal] : await lookUpBriefly(lookup, hostname);
  if (addresses.length > 0 && !addresses.some((address) => guard.allows(address))) {
    throw targetNotAllowed('target');
  }
}

/** Labels of 1 to 63 letters, digits, hyphens and (as in `_sip._tcp`) underscores. Source: RFC 1035 §2.3, RFC 2782. */
export function isHostName(name: string): boolean {
  const bare = name.replace(/\.$/, '');
  return (
    bare.length <= MAX_HOST_NAME && bare.split('.').every((label) => /^[\w-]{1,63}$/.test(label))
  );
}

/** The 400 for a target that could look like another one. */
export const unseenInTarget = () =>
  invalid('target', 'leave out line breaks, control characters and invisible characters');

/** Says what to set, and never which address a name has: that would map a private network for strangers. */
export const targetNotAllowed = (param: string) =>
  new HttpError(
    400,
    ErrorCode.targetNotAllowed,
    `The '${param}' leads to a private or reserved address, which checks may not reach. To allow it, the operator can ` +
      'set MONITOR_ALLOW_PRIVATE to its network, for example MONITOR_ALLOW_PRIVATE=192.168.0.0/16 ' +
      '(127.0.0.0/8 for the machine itself; separate several with commas), and restart Askwatch.',
    { param },
  );

/** The addresses of a name, or none when it does not resolve in time: it may come to exist later. */
async function lookUpBriefly(lookup: NameLookup, hostname: string): Promise<string[]> {
  try {
    return await unlessAborted(lookup(hostname), AbortSignal.timeout(LOOKUP_MS));
  } catch {
    return [];
  }
}
