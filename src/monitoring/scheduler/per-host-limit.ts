/** The places that jobs of one host have at a time, `atOnce` for politeness; who finds none waits in line. */
export function createPerHostLimit<T extends { readonly host: string | undefined }>(
  atOnce: number,
) {
  const hosts = new Map<string, { taken: number; line: T[] }>();
  /** Where those who wait stand in line. */
  const waiting = new Map<T, string>();

  function tidy(name: string) {
    const host = hosts.get(name);
    if (host && host.taken === 0 && host.line.length === 0) hosts.delete(name);
  }

  return {
    /** Takes a place, or stands in line: false. A job without a host needs no place. */
    take(job: T): boolean {
      if (job.host === undefined) return true;
      const host = hosts.get(job.host) ?? { taken: 0, line: [] };
      hosts.set(job.host, host);
      if (host.taken < atOnce) {
        host.taken += 1;
        return true;
      }
      host.line.push(job);
      waiting.set(job, job.host);
      return false;
    },
    /** Gives a place back. `host` is where it was taken, for a job may have moved meanwhile. */
    free(name: string | undefined): void {
      const host = name === undefined ? undefined : hosts.get(name);
      if (host === undefined || name === undefined) return;
      host.taken -= 1;
      tidy(name);
    },
    /** Leaves the line, if it stands in one. */
    leave(job: T): void {
      const name = waiting.get(job);
      if (name === undefined) return;
      waiting.delete(job);
      const line = hosts.get(name)?.line;
      line?.splice(line.indexOf(job), 1);
      tidy(name);
    },
    /** Takes the first out of the line when there is a place for it. */
    takeFirst(name: string | undefined): T | undefined {
      const host = name === undefined ? undefined : hosts.get(name);
      if (host === undefined || host.taken >= atOnce) return undefined;
      const first = host.line.shift();
      if (first) waiting.delete(first);
      return first;
    },
    isWaiting: (job: T) => waiting.has(job),
  };
}
