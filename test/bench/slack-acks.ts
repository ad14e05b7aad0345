import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { BenchContext } from './area.ts';
import { quantile } from './monitoring-arrivals.ts';
import { inTurn, median } from './passes.ts';
import { cpuNs, waitedNs } from './proc.ts';
import { ackedMs, type SlackBed, startSlackBed } from './slack-bed.ts';
import { IN_FLIGHT, steadily, takeOff } from './slack-flight.ts';
import { rowOfTimes } from './slack-table.ts';
import { figure } from './table.ts';

const COMMANDS = 200;
const WARM_UP = 50;
const PASSES = { full: 3, quick: 1 };

const CASES = ['nothing in flight', `${IN_FLIGHT} answers in flight`] as const;
type Case = (typeof CASES)[number];

/** One pass of one case. */
interface AckReading {
  acksMs: number[];
  /** What the bench itself may add: its own loop takes the acknowledgement. */
  benchP99Ms: number;
  /** Cores that the program kept busy; near 1 when it was the limit. */
  targetCores: number;
  /** The share of the time in which it could have run and others had the core. */
  waitedShare: number;
}

/** The acknowledgement of commands beside many answers, and beside none. */
export async function measureAcks(context: BenchContext): Promise<string[][]> {
  const found: Record<Case, AckReading[]> = { [CASES[0]]: [], [CASES[1]]: [] };
  for (let pass = 0; pass < PASSES[context.quick ? 'quick' : 'full']; pass += 1) {
    for (const name of inTurn(pass, CASES)) {
      context.progress(`  ${name}`);
      // Slack takes minutes to show the ends of the answers, so each pass has a program of its own, which is stopped.
      const bed = await startSlackBed(context);
      await steadily(WARM_UP, () => help(bed));
      const reading = name === CASES[0] ? await read(bed) : await readInFlight(bed);
      await bed.stop();
      context.detail(rowOfTimes(name, reading.acksMs).join(' | '));
      found[name].push(reading);
    }
  }
  for (const name of CASES) {
    const of = (key: 'benchP99Ms' | 'targetCores' | 'waitedShare') =>
      figure(median(found[name].map((reading) => reading[key])));
    context.note(
      `With ${name}, Askwatch kept ${of('targetCores')} cores busy and waited for one for ${of('waitedShare')} of the time; the bench's own loop was held for ${of('benchP99Ms')} ms at p99.`,
    );
  }
  return CASES.map((name) => rowOfCase(name, found[name]));
}

const help = async (bed: SlackBed) => ackedMs(await bed.slack.slash('/askwatch', 'help'));

async function read(bed: SlackBed): Promise<AckReading> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const look = () => ({
    atNs: performance.now() * 1e6,
    cpuNs: cpuNs(bed.pid),
    waitedNs: waitedNs(bed.pid),
  });
  const before = look();
  delay.enable();
  const acksMs = await steadily(COMMANDS, () => help(bed));
  delay.disable();
  const after = look();
  const wallNs = after.atNs - before.atNs;
  return {
    acksMs,
    benchP99Ms: delay.percentile(99) / 1e6,
    targetCores: (after.cpuNs - before.cpuNs) / wallNs,
    waitedShare: (after.waitedNs - before.waitedNs) / wallNs,
  };
}

async function readInFlight(bed: SlackBed): Promise<AckReading> {
  const flight = await takeOff(bed);
  const reading = await read(bed);
  flight.check();
  return reading;
}

/** Medians over the passes of what each pass showed. */
function rowOfCase(name: Case, readings: readonly AckReading[]): string[] {
  const shares = [0.5, 0.95, 0.99, 1].map((share) =>
    figure(median(readings.map(({ acksMs }) => quantile(acksMs, share)))),
  );
  const count = readings.reduce((total, { acksMs }) => total + acksMs.length, 0);
  return [`ack, ${name}, ms`, String(count), ...shares, name === CASES[1] ? 'p99 < 500' : ''];
}
