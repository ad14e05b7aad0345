import { MonitorCreate, type MonitorCreateInput } from '../../../src/contracts/monitoring.ts';
import { createSsrfGuard } from '../../../src/http/ssrf-guard.ts';
import { createCheck } from '../../../src/monitoring/checks/check.ts';
import type { CheckedMonitor } from '../../../src/monitoring/checks/check-type.ts';
import { createConnect } from '../../../src/monitoring/checks/connect.ts';
import { createNameLookup, type NameLookup } from '../../../src/monitoring/checks/name-lookup.ts';

/** Checks that may reach this machine over IPv4, run as the service runs them. */
export function setUp(options: { allow?: string[]; lookup?: NameLookup; ca?: string } = {}) {
  const guard = createSsrfGuard(options.allow ?? ['127.0.0.1/32']);
  const lookup = options.lookup ?? createNameLookup();
  const connect = createConnect({ guard, lookup, ...(options.ca ? { ca: options.ca } : {}) });
  const check = createCheck({ guard, connect, userAgent: 'Askwatch/1.2.3' });
  const run = (monitor: CheckedMonitor) => check(monitor, new AbortController());
  return {
    check,
    http: (target: string, config: object = {}) => run(monitorOf('HTTP', target, config)),
    keyword: (target: string, keyword: string, config: object = {}) =>
      run(monitorOf('KEYWORD', target, { target_keyword: keyword, ...config })),
    dns: (target: string, config: object = {}) => run(monitorOf('DNS', target, config)),
    certificate: (target: string, config: object = {}) =>
      run(monitorOf('CERTIFICATE', target, config)),
    tcp: (target: string, config: object = {}) => run(monitorOf('TCP', target, config)),
  };
}

/** A monitor as the API takes it, with the defaults of its settings. */
export function monitorOf(
  check_type: CheckedMonitor['check_type'],
  target: string,
  config: object,
): CheckedMonitor {
  const monitor = { check_type, name: 'site', target, config } as MonitorCreateInput;
  return MonitorCreate.parse(monitor) as CheckedMonitor;
}
