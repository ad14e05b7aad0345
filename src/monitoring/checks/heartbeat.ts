import { HeartbeatMonitor } from '../../contracts/monitoring.ts';
import { holdsUnseen } from '../../contracts/one-line.ts';
import { invalidValue as invalid } from '../../http/errors.ts';
import { cronFault } from '../time/cron.ts';
import type { CheckTypeModule } from './check-type.ts';
import { unseenInTarget } from './target.ts';

const MAX_JOB_WORD = 200;

/** HEARTBEAT: a job pings its address, and is DOWN when a ping is late. Its signals are in monitors/heartbeat.ts. */
export const heartbeat: CheckTypeModule<HeartbeatMonitor> = {
  schema: HeartbeatMonitor,
  admit({ target, config }) {
    const fault = cronFault(config.cron, config.timezone);
    if (fault) throw invalid(`config.${fault.key}`, fault.message);
    if (target.length > MAX_JOB_WORD) {
      throw invalid('target', `must have at most ${MAX_JOB_WORD} characters`);
    }
    if (/\p{Cc}/u.test(target) || holdsUnseen(target)) throw unseenInTarget();
  },
};
