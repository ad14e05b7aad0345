import { type AckCase, measureAcks } from '../shared/acks.ts';
import type { BenchContext } from '../shared/area.ts';
import type { Finding } from '../shared/finding.ts';
import { IN_FLIGHT, takeOff } from '../shared/flight.ts';
import { ackedMs, startSlackBed } from './bed.ts';

/** The acknowledgement of commands beside many answers, and beside none. */
export function measureSlackAcks(context: BenchContext): Promise<Finding[]> {
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
    { name: 'ack-idle', title: 'ack, nothing in flight', start },
    {
      name: 'ack-busy',
      title: `ack, ${IN_FLIGHT} answers in flight`,
      start: busy,
      goal: { atMost: 500 },
    },
  ];
  return measureAcks(context, cases);
}
