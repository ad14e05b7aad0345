/** Limits the jobs of one host at the same time to `atOnce`; further jobs wait in line. */
export function createPerHostLimit<T extends { readonly host: string | undefined }>(
  atOnce: number,
) {
  const hosts = new Map<string, { taken: number; line: T[] }>();
  /** Hosts of the waiting jobs. */
  const waiting = new Map<T, string>();

  function tidy(name: string) {
    const host = hosts.get(name);
    if (host && host.taken === 0 && host.line.length === 0) hosts.delete(name);
  }

  return {
    /** Takes a place, or joins the line and returns false. A job without a host needs no place. */
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
    /** Returns a place to the host where it was taken, because the job may have moved since. */
    free(name: string | undefined): void {
      const host = name === undefined ? undefined : hosts.get(name);
      if (host === undefined || name === undefined) return;
      host.taken -= 1;
      tidy(name);
    },
    leave(job: T): void {
      const name = waiting.get(job);
      if (name === undefined) return;
      waiting.delete(job);
      const line = hosts.get(name)?.line;
      line?.splice(line.indexOf(job), 1);
      tidy(name);
    },
    /** Takes the first job out of the line if there is a place for it. */
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
