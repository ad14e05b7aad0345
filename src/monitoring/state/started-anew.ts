import { type MonitorState, presumedUp, type Step } from './state.ts';

/**
 * The state of a monitor whose target is another from now on: presumed UP until checked, beneath what people set.
 * `changes` goes on counting, or a change to come would look like one that was told. Pure.
 */
export function withNewTarget(state: MonitorState, nowMs: number): Step {
  const { status, sinceMs, changes } = state;
  const anew: MonitorState = { ...presumedUp(nowMs), changes };
  if (state.beneath) {
    const beneath = { status: 'UP', sinceMs: nowMs } as const;
    return still({ ...anew, status, sinceMs, beneath });
  }
  if (status === 'UP') return still(anew);
  const number = changes + 1;
  return {
    state: { ...anew, changes: number },
    change: { atMs: nowMs, sinceMs: nowMs, from: status, to: 'UP', number },
    recheckSoon: false,
  };
}

const still = (state: MonitorState): Step => ({ state, change: undefined, recheckSoon: false });
