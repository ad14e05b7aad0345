import type { Usage } from '../../contracts/gateway.ts';

/** What several calls used together; `undefined` when one of them did not tell, since the sum would be too small. */
export function sumUsage(usages: ReadonlyArray<Usage | null | undefined>): Usage | undefined {
  const told = usages.filter((usage) => usage != null);
  if (told.length === 0 || told.length < usages.length) return undefined;
  return told.reduce((sum, usage) => add(sum, usage) as Usage);
}

/** Adds the numbers that both have, also those one level down, such as the details of the prompt's tokens. */
function add(a: Record<string, unknown>, b: Record<string, unknown>, depth = 0) {
  const sum: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(a)) {
    const other = b[name];
    if (typeof one === 'number' && typeof other === 'number') sum[name] = one + other;
    else if (depth === 0 && isRecord(one) && isRecord(other)) sum[name] = add(one, other, 1);
  }
  return sum;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
