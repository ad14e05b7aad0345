/** The first `count` of the ids that come after one, in their order, and the last of these when more follow. */
export function pageAfter(
  ids: readonly string[],
  after: string,
  count: number,
): { ids: string[]; next: string | null } {
  const rest = ids.filter((id) => id > after).sort();
  const page = rest.slice(0, count);
  return { ids: page, next: rest.length > page.length ? (page.at(-1) ?? null) : null };
}
