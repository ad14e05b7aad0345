import { type AckCase, measureAcks } from '../shared/acks.ts';
import type { BenchContext } from '../shared/area.ts';
import { IN_FLIGHT, takeOff } from '../shared/flight.ts';
import { ackedMs, startSlackBed } from './bed.ts';

/** The acknowledgement of commands beside many answers, and beside none. */
export function measureSlackAcks(context: BenchContext): Promise<string[][]> {
  async function start() {
    const bed = await startSlackBed(context);
    const command = async () => ackedMs(await bed.slack.slash('/askwatch', 'help'));
    return { ...bed, command };
  }
  const busy = async () => {
    const bed = await start();
    return { ...bed, takeOff: () => takeOff(bed) };
  };
  const cases: AckCase[] = [
    { title: 'ack, nothing in flight', start },
    { title: `ack, ${IN_FLIGHT} answers in flight`, start: busy, goal: 'p99 < 500' },
  ];
  return measureAcks(context, cases);
}
