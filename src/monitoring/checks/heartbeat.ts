import { type HeartbeatConfig, HeartbeatMonitor } from '../../contracts/monitoring.ts';
import { holdsUnseen } from '../../contracts/one-line.ts';
import { invalidValue as invalid } from '../../http/errors.ts';
import { parseCron } from '../time/cron.ts';
import type { CheckType } from './check-type.ts';
import { unseenInTarget } from './target.ts';

/** Longest word for a heartbeat's job. */
const MAX_JOB_WORD = 200;

/** HEARTBEAT: a job pings its address, and is DOWN when a ping is late. Its signals are in monitors/heartbeat.ts. */
export const heartbeat: CheckType<HeartbeatMonitor> = {
  schema: HeartbeatMonitor,
  admit({ target, config }) {
    const invalidTime = invalidTimeOf(config);
    if (invalidTime) throw invalid(invalidTime.param, invalidTime.message);
    if (target.length > MAX_JOB_WORD) {
      throw invalid('target', `a word for the job has at most ${MAX_JOB_WORD} characters`);
    }
    if (/\p{Cc}/u.test(target) || holdsUnseen(target)) throw unseenInTarget();
  },
};

/** What is wrong with the times of a heartbeat that its schema cannot see: the setting, and a sentence without its end. */
export function invalidTimeOf(
  config: HeartbeatConfig,
): { param: string; message: string } | undefined {
  const { cron, timezone } = config;
  const zone = refusal('0 0 * * *', timezone);
  if (zone !== undefined) return { param: 'config.timezone', message: zone };
  const expression = cron === undefined ? undefined : refusal(cron, timezone);
  return expression === undefined ? undefined : { param: 'config.cron', message: expression };
}

function refusal(cron: string, timezone: string): string | undefined {
  try {
    parseCron(cron, timezone);
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}
