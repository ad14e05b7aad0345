import type { StatusEvent, StatusReport } from '../../status/api-types.ts';
import { withEvent } from '../../status/event.ts';

/** What the status page knows. */
export interface StatusState {
  connection: 'connecting' | 'open' | 'lost';
  /** Undefined until the server has sent it. */
  report: StatusReport | undefined;
}

export const emptyStatus: StatusState = { connection: 'connecting', report: undefined };

/** The state after an event; of what did not change, the objects stay the same. Pure. */
export const applyEvent = (state: StatusState, event: StatusEvent): StatusState => ({
  connection: 'open',
  report: withEvent(state.report, event),
});
