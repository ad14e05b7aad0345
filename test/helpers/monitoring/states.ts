import { createInitialState, type MonitorState } from '../../../src/monitoring/state/state.ts';

/** The state of a monitor that was found UP at a moment. */
export const upSince = (ms: number): MonitorState => ({ ...createInitialState(ms), status: 'UP' });
