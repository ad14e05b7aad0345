import { monitorEventLoopDelay } from 'node:perf_hooks';
import { quantile } from '../monitoring/arrivals.ts';
import type { BenchContext } from './area.ts';
import { type Finding, findingsOfTimes, type Goal } from './finding.ts';
import { type Flight, steadily } from './flight.ts';
import { inTurn, median } from './passes.ts';
import { cpuNs, waitedNs } from './proc.ts';
import { figure } from './table.ts';

const COMMANDS = 200;
const WARM_UP = 50;
const PASSES = { full: 3, quick: 1 };

/** A program that acknowledges commands. */
export interface AckBed {
  pid: number;
  /** Sends a command, and gives the time to its acknowledgement in milliseconds. */
  command(): Promise<number>;
  stop(): Promise<void>;
}

/** One thing that is measured, in every pass with a program of its own. */
export interface AckCase {
  name: string;
  title: string;
  /** Goal for the 99th percentile, in milliseconds. */
  goal?: Goal;
  reference?: AckCase;
  start(): Promise<AckBed & { takeOff?: () => Promise<Flight> }>;
  /** Between two commands; 25. */
  apartMs?: number;
}

/** One pass of one case. */
interface AckReading {
  acksMs: number[];
  /** Delay of the bench's own event loop, which receives the acknowledgement. */
  benchP99Ms: number;
  /** Cores that the program kept busy; near 1 when it was the limit. */
  targetCores: number;
  /** The share of the time in which it could have run and others had the core. */
  waitedShare: number;
}

/** Measures acknowledgement times in alternating cases. References only serve as comparison. */
export async function measureAcks(
  context: BenchContext,
  cases: readonly AckCase[],
): Promise<Finding[]> {
  const found = new Map<AckCase, AckReading[]>(cases.map((one) => [one, []]));
  for (let pass = 0; pass < PASSES[context.quick ? 'quick' : 'full']; pass += 1) {
    for (const one of inTurn(pass, cases)) {
      context.progress(`  ${one.title}`);
      // The ends of many answers take minutes to be shown, so each pass has a program of its own, which is stopped.
      const bed = await one.start();
      await steadily(WARM_UP, bed.command);
      const flight = await bed.takeOff?.();
      const reading = await read(bed, one);
      flight?.check();
      await bed.stop();
      const p99 = quantile(reading.acksMs, 0.99);
      context.detail(`  ${one.title}: p99 ${figure(p99)} ms`);
      found.get(one)?.push(reading);
    }
  }
  for (const [{ title }, readings] of found) {
    const of = (key: 'benchP99Ms' | 'targetCores' | 'waitedShare') =>
      figure(median(readings.map((reading) => reading[key])));
    context.note(
      `${title}: it kept ${of('targetCores')} cores busy and waited for one for ${of('waitedShare')} of the time; the bench's own loop was held for ${of('benchP99Ms')} ms at p99.`,
    );
  }
  const acksMs = (one: AckCase) => (found.get(one) ?? []).map((reading) => reading.acksMs);
  const references = cases.map(({ reference }) => reference);
  return cases
    .filter((one) => !references.includes(one))
    .flatMap((one) =>
      findingsOfTimes({
        ...{ name: one.name, title: one.title, timesMs: acksMs(one) },
        ...(one.reference && { referenceMs: acksMs(one.reference) }),
        shares: { p50: undefined, p95: undefined, p99: one.goal },
      }),
    );
}

async function read(bed: AckBed, { apartMs }: AckCase): Promise<AckReading> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const look = () => ({
    atNs: performance.now() * 1e6,
    cpuNs: cpuNs(bed.pid),
    waitedNs: waitedNs(bed.pid),
  });
  const before = look();
  delay.enable();
  const acksMs = await steadily(COMMANDS, bed.command, apartMs);
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
