import { type AckCase, measureAcks } from '../shared/acks.ts';
import type { BenchContext } from '../shared/area.ts';
import type { Finding } from '../shared/finding.ts';
import { IN_FLIGHT, takeOff } from '../shared/flight.ts';
import { startDiscordBed, startReference } from './bed.ts';

/** How soon commands are deferred: beside many answers and beside none, many at once, and by the bare client. */
export function measureDeferrals(context: BenchContext): Promise<Finding[]> {
  const start = () => startDiscordBed(context);
  const busy = async () => {
    const bed = await startDiscordBed(context);
    return { ...bed, takeOff: () => takeOff(bed) };
  };
  const bare = () => startReference(context);
  const goal = { atMost: 500 };
  const reference: AckCase = { name: 'bare', title: 'deferral, bare client', start: bare };
  const onceBare: AckCase = {
    ...{ name: 'once-bare', title: `deferral, ${IN_FLIGHT} at once, bare client` },
    ...{ start: bare, apartMs: 0 },
  };
  const once = { name: 'once', title: `deferral, ${IN_FLIGHT} at once`, start, apartMs: 0, goal };
  return measureAcks(context, [
    reference,
    { name: 'idle', title: 'deferral, nothing in flight', start, reference },
    {
      ...{ name: 'busy', title: `deferral, ${IN_FLIGHT} answers in flight`, start: busy },
      ...{ reference, goal },
    },
    onceBare,
    { ...once, reference: onceBare },
  ]);
}
