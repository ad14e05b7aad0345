import { readdirSync, readFileSync } from 'node:fs';
import { query, startPostgres } from '../../test/helpers/postgres/server.ts';
import type { BenchContext } from '../shared/area.ts';
import { cpuNs, NS_PER_TICK } from '../shared/proc.ts';

/** The PostgreSQL that is measured with: one of its own, or the one that BENCH_DATABASE_URL names. */
export interface BenchServer {
  /** Makes an empty database; gives its address. */
  database(name: string): Promise<string>;
  /** CPU time of all its processes so far, nanoseconds; undefined for a server on another machine. */
  cpuNs(): number | undefined;
  /** Process ids of a server on this machine. */
  pids(): number[];
  close(): Promise<void>;
}

/** Starts a server that keeps what it has acknowledged over a loss of power, unless one is given. */
export async function openServer({ note }: Pick<BenchContext, 'note'>): Promise<BenchServer> {
  const given = process.env.BENCH_DATABASE_URL;
  const own = given ? undefined : await startPostgres({ durable: true });
  const url = given ?? own?.url ?? '';
  const [about] = await query(
    url,
    `select current_setting('server_version') as version, current_setting('shared_buffers') as buffers,
      current_setting('fsync') as fsync, current_setting('synchronous_commit') as sync`,
  );
  const { version, buffers, fsync, sync } = about ?? {};
  note(
    `PostgreSQL ${version}, shared_buffers ${buffers}, fsync ${fsync}, synchronous_commit ${sync}.`,
  );
  const parent = await postmasterOf(url);
  if (parent === undefined) note('The server is on another machine, so its CPU is not measured.');
  const made: string[] = [];
  const pids = () => (parent === undefined ? [] : [parent, ...childrenOf(parent)]);
  return {
    async database(name) {
      const database = `askwatch_bench_${process.pid}_${name.replaceAll('-', '_')}`;
      await query(url, `create database ${database}`);
      made.push(database);
      const address = new URL(url);
      address.pathname = `/${database}`;
      return address.href;
    },
    cpuNs() {
      if (parent === undefined) return undefined;
      const live = pids().map((pid) => {
        try {
          return cpuNs(pid);
        } catch {
          // It has ended since, and counts as waited for.
          return 0;
        }
      });
      return live.reduce((total, ns) => total + ns, endedNs(parent));
    },
    pids,
    async close() {
      for (const name of made) await query(url, `drop database ${name} with (force)`);
      await own?.remove();
    },
  };
}

/** The process that all others of the server are children of; undefined when it is not on this machine. */
async function postmasterOf(url: string): Promise<number | undefined> {
  const [row] = await query(
    url,
    `select pid, inet_server_addr()::text as address
      from pg_stat_activity where backend_type = 'checkpointer'`,
  );
  if (!String(row?.address).startsWith('127.')) return undefined;
  const parent = /^PPid:\s*(\d+)$/m.exec(statusOf(Number(row?.pid)))?.[1];
  return parent === undefined ? undefined : Number(parent);
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}

/** Source: proc_pid_task_children(5). */
function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
      .split(' ')
      .filter(Boolean)
      .map(Number),
  );
}

/** CPU time of children that have ended. Source: proc_pid_stat(5), `cutime` and `cstime`. */
function endedNs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[13]) + Number(fields[14])) * NS_PER_TICK;
}
