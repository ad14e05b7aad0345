import type { Monitor, MonitorCreated, MonitorCreateInput } from '../contracts/monitoring.ts';

/** The monitoring service as typed functions. Every function throws a `CallError` or a `ContractError`. */
export interface MonitoringClient {
  /** All active monitors with their live statuses; a list whose `count` is not its length is a `ContractError`. */
  list(options?: { signal?: AbortSignal }): Promise<Monitor[]>;
  create(monitor: MonitorCreateInput, options?: { signal?: AbortSignal }): Promise<MonitorCreated>;
  /** Sends one heartbeat. */
  push(token: string, options?: { signal?: AbortSignal }): Promise<void>;
  close(): Promise<void>;
}
