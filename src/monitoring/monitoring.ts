import type { Logger } from 'pino';
import type { Keys } from '../http/keys.ts';
import type { Metrics } from '../http/metrics.ts';
import type { AddressFor } from '../http/public-address.ts';
import type { ServerKit } from '../http/server.ts';
import { createSsrfGuard } from '../http/ssrf-guard.ts';
import type { Store } from '../store/store.ts';
import { createAdmission } from './api/admission.ts';
import { addRoutes } from './api/routes.ts';
import { createCheck } from './checks/check.ts';
import { createConnect } from './checks/connect.ts';
import { createNameLookup } from './checks/name-lookup.ts';
import { type CheckTypes, shippedTypes } from './checks/registry.ts';
import { Connectivity } from './connectivity/connectivity.ts';
import { createProbe } from './connectivity/probe.ts';
import { type MonitorHistory, openHistory as openFileHistory } from './history/history.ts';
import { MAX_MONITORS, type Monitors, openMonitors } from './monitors/monitors.ts';
import { CheckRunner } from './scheduler/check-runner.ts';
import { roomForChecks } from './scheduler/room-for-checks.ts';
import { type ServiceClock, systemClock } from './time/clock.ts';

export interface MonitoringOptions {
  kit: ServerKit;
  keys: Keys;
  store: Store;
  /** Private networks that checks may reach, CIDRs. */
  allowPrivate: string[];
  /** Addresses that prove this machine's network works, `ip` or `ip:port`; its resolvers by default. */
  networkAnchors?: string[];
  /** This service's address for clients, which push URLs contain. */
  addressFor: AddressFor;
  version: string;
  log: Logger;
  clock?: ServiceClock;
  /** Defaults to a history in the store's files. */
  openHistory?: OpenHistory;
  /** Maximum of all processes on the store together; by default, as many as one process can check. */
  maxMonitors?: number;
  /** A shared store's clock may be set back by this much; 30 s by default. */
  changesOverlapMs?: number;
  /** Opens what keeps monitors as files declare them. Without it, declared monitors are like all others. */
  openFiles?: (parts: ServiceParts) => FollowedFiles;
  /** Defaults to the types that the service comes with. */
  types?: CheckTypes;
}

/** Parts of the service for a feature that manages monitors. */
export interface ServiceParts {
  monitors: Monitors;
  runner: CheckRunner;
  store: Store;
  clock: ServiceClock;
  allowPrivate: string[];
  maxMonitors: number;
  metrics: Metrics;
  log: Logger;
}

/** Files that declare monitors. */
export interface FollowedFiles {
  start(): void;
  close(): Promise<void>;
}

/** `owns` is true for monitors that this process checks. */
export type OpenHistory = (options: {
  store: Store;
  owns: (monitor: string) => boolean;
  wallMs: () => number;
  log: Logger;
}) => Promise<MonitorHistory> | MonitorHistory;

/**
 * The monitoring service of the contract: adds its API to the server and checks the monitors in the store.
 * Throws if a network in `allowPrivate` is invalid, and `CorruptDocumentError` if a monitor can't be read.
 */
export async function createMonitoring(options: MonitoringOptions) {
  const {
    kit,
    keys,
    store,
    addressFor,
    version,
    log,
    clock = systemClock,
    types = shippedTypes,
    maxMonitors,
  } = options;
  const guard = createSsrfGuard(options.allowPrivate);
  const lookup = createNameLookup();
  const connect = createConnect({ guard, lookup });
  const check = createCheck({ types, guard, connect, userAgent: `Askwatch/${version}` });
  const openHistory = options.openHistory ?? openFileHistory;
  let owns = (_monitor: string) => false;
  const history = await openHistory({
    store,
    owns: (monitor) => owns(monitor),
    wallMs: clock.wallMs,
    log,
  });
  const monitors = await openMonitors({
    types,
    store,
    history,
    wallMs: clock.wallMs,
    limit: maxMonitors,
    changesOverlapMs: options.changesOverlapMs,
    log,
  });
  const network = watchNetwork({
    anchors: options.networkAnchors,
    clock,
    log,
    onChange: (isUp) => runner.setNetwork(isUp),
  });

  const runner = new CheckRunner({
    monitors,
    leases: store.leases,
    history,
    connectivity: network.connectivity,
    check,
    types,
    maxInFlight: await roomForChecks(log),
    clock,
    metrics: kit.metrics,
    log,
  });
  ({ owns } = runner);
  addRoutes({
    kit,
    keys,
    store,
    monitors,
    types,
    history,
    admit: createAdmission({ types, guard, lookup }),
    followsFile: options.openFiles !== undefined,
    runner,
    addressFor,
    clock,
    log,
  });
  const files = options.openFiles?.({
    monitors,
    runner,
    store,
    clock,
    allowPrivate: options.allowPrivate,
    maxMonitors: maxMonitors ?? MAX_MONITORS,
    metrics: kit.metrics,
    log,
  });
  return {
    monitors,
    /** Starts to check; call it once the server listens. */
    start(): void {
      if (!network.canTell()) log.info(OWN_NETWORK_UNKNOWN);
      runner.start();
      files?.start();
    },
    async close(): Promise<void> {
      network.close();
      await files?.close();
      await runner.close();
      await monitors.close();
      await history.close();
    },
  };
}

const NETWORK_RETRY_MS = 5_000;

/** Notices when this machine's own network is down, so that its targets don't count as down. Retries until it is back. */
function watchNetwork(options: {
  anchors?: string[];
  clock: ServiceClock;
  log: Logger;
  onChange: (isUp: boolean) => void;
}) {
  const { anchors, clock, log, onChange } = options;
  const probe = createProbe({ anchors: anchors?.length ? anchors : undefined });
  let cancelRetry = () => {};

  const connectivity = new Connectivity({
    probe: probe.isThere,
    nowMs: clock.wallMs,
    onLost(sinceMs) {
      log.warn(
        { since: new Date(sinceMs).toISOString() },
        "this machine's network is down; targets cannot be checked until it is back",
      );
      onChange(false);
      retryLater();
    },
    onBack(sinceMs) {
      log.info(
        { since: new Date(sinceMs).toISOString() },
        "this machine's network is back; checking targets again",
      );
      onChange(true);
    },
  });

  function retryLater() {
    cancelRetry = clock.after(NETWORK_RETRY_MS, () => {
      void connectivity.askWhetherBack().then(() => {
        if (connectivity.lost) retryLater();
      });
    });
  }

  return { connectivity, canTell: probe.canTell, close: () => cancelRetry() };
}

const OWN_NETWORK_UNKNOWN =
  "all of this machine's resolvers are on loopback, so all targets count as down if its own network fails; to have " +
  'that detected, set MONITOR_NETWORK_ANCHORS to an address beyond this machine, such as 192.168.0.1:53';
