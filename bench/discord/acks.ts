import { type AckCase, measureAcks } from '../shared/acks.ts';
import type { BenchContext } from '../shared/area.ts';
import { IN_FLIGHT, takeOff } from '../shared/flight.ts';
import { startDiscordBed, startReference } from './bed.ts';

/** How soon commands are deferred: beside many answers and beside none, many at once, and by the bare client. */
export function measureDeferrals(context: BenchContext): Promise<string[][]> {
  const start = () => startDiscordBed(context);
  const busy = async () => {
    const bed = await startDiscordBed(context);
    return { ...bed, takeOff: () => takeOff(bed) };
  };
  const bare = () => startReference(context);
  const goal = 'p99 < 500';
  const cases: AckCase[] = [
    { title: 'deferral, bare client', start: bare },
    { title: 'deferral, nothing in flight', start },
    { title: `deferral, ${IN_FLIGHT} answers in flight`, start: busy, goal },
    { title: `deferral, ${IN_FLIGHT} at once, bare client`, start: bare, apartMs: 0 },
    { title: `deferral, ${IN_FLIGHT} at once`, start, apartMs: 0, goal },
  ];
  return measureAcks(context, cases);
}
