import type { CheckedMonitor } from './check.ts';
import { parseResolver } from './dns-query.ts';

/** Whose jobs are not run all at once: a web target's host, or the name that a DNS check asks for. */
export function limitedHost(definition: CheckedMonitor): string {
  if (definition.check_type === 'DNS') return `dns:${definition.target.toLowerCase()}`;
  return new URL(definition.target).hostname;
}

/** What a check goes to: the host of a web target, the resolver that is set, or else the name that is asked for. */
export function checkedHost(definition: CheckedMonitor): string {
  if (definition.check_type !== 'DNS') return new URL(definition.target).hostname;
  const { resolver } = definition.config;
  return (resolver && parseResolver(resolver)?.address) ?? definition.target;
}
