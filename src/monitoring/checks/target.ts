import { ErrorCode } from '../../contracts/error.ts';
import { literalAddress } from '../../http/address.ts';
import { HttpError, invalidValue as invalid } from '../../http/errors.ts';
import type { AdmissionTools } from './check-type.ts';
import { unlessAborted } from './connect.ts';
import type { NameLookup } from './name-lookup.ts';

/** Time that a create waits for its target's name; a slower name is accepted and checked later. */
const LOOKUP_MS = 2_000;

/** Longest host name. Source: RFC 1035 §2.3.4. */
const MAX_HOST_NAME = 253;

/** Throws a 400 for a host whose addresses are all forbidden. */
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

/** Never names the address of a host, because that would reveal a private network to strangers. */
export const targetNotAllowed = (param: string) =>
  new HttpError(
    400,
    ErrorCode.targetNotAllowed,
    `The '${param}' leads to a private or reserved address, which checks may not reach. To allow it, the operator can ` +
      'set MONITOR_ALLOW_PRIVATE to its network, for example MONITOR_ALLOW_PRIVATE=192.168.0.0/16 ' +
      '(127.0.0.0/8 for the machine itself; separate several with commas), and restart Askwatch.',
    { param },
  );

/** Addresses of a name; none if it doesn't resolve in time, since it may exist later. */
async function lookUpBriefly(lookup: NameLookup, hostname: string): Promise<string[]> {
  try {
    return await unlessAborted(lookup(hostname), AbortSignal.timeout(LOOKUP_MS));
  } catch {
    return [];
  }
}
