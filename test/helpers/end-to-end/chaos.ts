import { setTimeout as pause } from 'node:timers/promises';
import { onTestFailed } from 'vitest';
import { eventually } from '../eventually.ts';
import { type PostgresServer, query } from '../postgres/server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type AskwatchProcess, startAskwatch } from './askwatch-process.ts';

/** Faults of the processes and their database. */
export type Fault = 'kill' | 'freeze' | 'terminate' | 'crash';

/** Counts of each fault. A frozen process is stopped for longer than its leases last. */
export interface Storm {
  kills: number;
  freezes: number;
  terminations: number;
  crashes: number;
  freezeMs: () => number;
  betweenMs: () => number;
}

/** Share of the faults that hit the holder of the bot, if it is known. */
const HOLDER_SHARE = 0.6;

/** Characters of what each process said, where a test fails. */
const OUTPUT_SHOWN = 6_000;

interface Slot {
  process: AskwatchProcess;
  /** The program; the built one by default. */
  program?: string;
  /** It neither answers nor is started again this moment. */
  isDown: boolean;
}

/** Starts several processes on one database, for tests that kill them. */
export async function startProcesses(
  count: number,
  { database, schema, env }: { database: string; schema: string; env: Record<string, string> },
) {
  const started: AskwatchProcess[] = [];
  async function start(program?: string) {
    const one = await startAskwatch({
      ...(program !== undefined && { command: [process.execPath, program] }),
      dataDir: await temporaryFolder(),
      env: { DATABASE_URL: database, DATABASE_SCHEMA: schema, ...env },
    });
    started.push(one);
    return one;
  }
  onTestFailed(() => {
    for (const { pid, output } of started)
      process.stdout.write(`\nProcess ${pid} said last:\n${output().slice(-OUTPUT_SHOWN)}\n`);
  });
  const slots: Slot[] = [];
  async function add(more: number) {
    for (let at = 0; at < more; at += 1) slots.push({ process: await start(), isDown: false });
  }
  await add(count);

  async function startAgain(slot: Slot) {
    // A start fails while the database is away; an operator's supervisor would restart the process.
    for (let left = 20; ; left -= 1) {
      try {
        slot.process = await start(slot.program);
        slot.isDown = false;
        return;
      } catch (error) {
        if (left === 0) throw error;
        await pause(500);
      }
    }
  }

  /** Which of them has the bot; undefined while none has, or the database is away. */
  async function holder(): Promise<Slot | undefined> {
    const rows = await query(
      database,
      `select m.name from ${schema}.lease l join ${schema}.member m on m.id = l.holder where l.kind = 'bot'`,
    ).catch(() => []);
    const name = String(rows[0]?.name);
    return slots.find(({ process: { pid } }) => name.includes(`:${pid}`));
  }

  /** One that runs; more often than not the one that has the bot: nothing comes of it when another one is away. */
  async function victim(random: () => number): Promise<Slot> {
    for (;;) {
      const holding = random() < HOLDER_SHARE ? await holder() : undefined;
      const running = slots.filter(({ isDown }) => !isDown);
      const any = running[Math.floor(random() * running.length)];
      const chosen = holding && !holding.isDown ? holding : any;
      if (chosen) {
        chosen.isDown = true;
        return chosen;
      }
      await pause(100);
    }
  }

  return {
    add,
    holder: async () => (await holder())?.process,
    pids: () => slots.map(({ process: { pid } }) => pid),
    urls: () => slots.map(({ process: { url } }) => url),
    outputs: () => slots.map(({ process: { output } }) => output()),
    async kill(random: () => number, onKilled = () => {}): Promise<void> {
      const slot = await victim(random);
      await slot.process.kill();
      onKilled();
      await startAgain(slot);
    },
    async freeze(random: () => number, forMs: number): Promise<void> {
      const slot = await victim(random);
      process.kill(slot.process.pid, 'SIGSTOP');
      await pause(forMs);
      process.kill(slot.process.pid, 'SIGCONT');
      slot.isDown = false;
    },
    /** Stops one, and starts it again, or another program in its place; gives the code 0, or what it said before another. */
    async replace(at: number, program?: string): Promise<number | string> {
      const slot = slots[at];
      if (!slot) throw new Error(`There is no process ${at}.`);
      slot.isDown = true;
      const { output, stop } = slot.process;
      const code = await stop();
      if (program !== undefined) slot.program = program;
      await startAgain(slot);
      return code === 0 ? 0 : `ended with ${code}: ${output().slice(-2_000)}`;
    },
    /** Starts again what has ended by itself; gives how many had. */
    async revive(): Promise<number> {
      let ended = 0;
      for (const slot of slots) {
        const code = await Promise.race([slot.process.exit, pause(0, 'runs' as const)]);
        if (code === 'runs' || slot.isDown) continue;
        ended += 1;
        slot.isDown = true;
        await startAgain(slot);
      }
      return ended;
    },
    async allReady(): Promise<void> {
      for (const { process: one } of slots) {
        await eventually(async () => (await fetch(`${one.url}/readyz`)).ok, {
          what: `${one.url} to be ready: ${one.output().slice(-2_000)}`,
        });
      }
    },
    async stop(): Promise<Array<number | null>> {
      return await Promise.all(slots.map(({ process: one }) => one.stop()));
    },
  };
}

/** Does all of it, in an order that the seed gives; processes are started again at once. */
export async function rage(
  storm: Storm,
  on: {
    processes: Awaited<ReturnType<typeof startProcesses>>;
    server: PostgresServer;
    random: () => number;
    /** Called before each fault. */
    onFault?: () => void;
    /** A process was killed, and is not started again yet. */
    onKilled?: () => void;
  },
): Promise<void> {
  const { processes, server, random, onFault, onKilled } = on;
  const faults: Fault[] = [
    ...Array<Fault>(storm.kills).fill('kill'),
    ...Array<Fault>(storm.freezes).fill('freeze'),
    ...Array<Fault>(storm.terminations).fill('terminate'),
    ...Array<Fault>(storm.crashes).fill('crash'),
  ];
  for (let at = faults.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    [faults[at], faults[other]] = [faults[other] as Fault, faults[at] as Fault];
  }
  const underWay = new Set<Promise<void>>();
  for (const fault of faults) {
    const done = begin(fault).finally(() => underWay.delete(done));
    underWay.add(done);
    await pause(storm.betweenMs());
  }
  await Promise.all(underWay);

  async function begin(fault: Fault) {
    onFault?.();
    if (fault === 'kill') await processes.kill(random, onKilled);
    if (fault === 'freeze') await processes.freeze(random, storm.freezeMs());
    if (fault === 'crash') await server.crash();
    if (fault === 'terminate') {
      await query(
        server.url,
        'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()',
      ).catch(() => {});
    }
  }
}
