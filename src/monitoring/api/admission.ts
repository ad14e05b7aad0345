import { invalidValue as invalid } from '../../http/errors.ts';
import { timeoutSeconds } from '../checks/check.ts';
import {
  type AdmissionTools,
  type CheckedMonitor,
  isHeartbeat,
  type MonitorDefinition,
} from '../checks/check-type.ts';
import { type CheckTypes, shippedTypes } from '../checks/registry.ts';

/** Decides if a monitor is allowed; throws a 400 that names the field and says what to do. */
export type Admit = (monitor: MonitorDefinition) => Promise<void>;

/** Checks what a schema can't: combinations of settings, and addresses of targets. */
export function createAdmission(tools: AdmissionTools & { types?: CheckTypes }): Admit {
  const { types = shippedTypes } = tools;
  return async (monitor) => {
    if (!isHeartbeat(monitor)) admitTimes(monitor.config);
    await types.of(monitor).admit(monitor, tools);
  };
}

function admitTimes(config: CheckedMonitor['config']): void {
  const seconds = timeoutSeconds(config);
  if (seconds >= config.interval_seconds) {
    throw invalid(
      'config.timeout_seconds',
      `must be less than interval_seconds, which is ${config.interval_seconds}`,
    );
  }
  if (config.degraded_after_ms !== undefined && config.degraded_after_ms >= seconds * 1000) {
    throw invalid('config.degraded_after_ms', `must be less than the timeout, ${seconds} s`);
  }
}
