import { CheckFailure } from '../../src/monitoring/checks/check-result.ts';
import type { CheckedMonitor } from '../../src/monitoring/checks/check-type.ts';
import {
  type CheckTypes,
  createCheckTypes,
  SHIPPED_TYPES,
} from '../../src/monitoring/checks/registry.ts';
import { MONITORS } from './plan.ts';
import { NOW_MS, type Period, periodAt } from './planned-monitor.ts';

/** Check types that return the plan's last result without using the network. `onCheck` is called with the monitor's name. */
export function plannedChecks(onCheck: (name: string) => void = () => {}): CheckTypes {
  const asPlanned = {
    // Shipped types look up the name of a new target.
    admit() {},
    async probe(monitor: CheckedMonitor) {
      onCheck(monitor.name);
      const { status, outcome = 'failed', reason = '' } = problemOf(monitor);
      if (status === 'DOWN') throw new CheckFailure(outcome as CheckFailure['outcome'], reason);
    },
    degradation(monitor: CheckedMonitor) {
      const { status, outcome, reason = '' } = problemOf(monitor);
      const isOne = status === 'DEGRADED' && (outcome === 'slow' || outcome === 'expiring');
      return isOne ? { outcome, reason } : undefined;
    },
  };
  return createCheckTypes(
    SHIPPED_TYPES.map((type) => ('probe' in type ? { ...type, ...asPlanned } : type)),
  );
}

function problemOf({ name }: CheckedMonitor): Partial<Period> {
  const monitor = MONITORS.find((one) => one.name === name);
  return (monitor && periodAt(monitor, NOW_MS - 1)) ?? {};
}
