import type { Logger } from 'pino';
import type { Keys } from '../http/keys.ts';
import type { AddressFor } from '../http/public-address.ts';
import type { ServerKit } from '../http/server.ts';
import type { Store } from '../store/store.ts';
import { createAdmission } from './api/admission.ts';
import { addRoutes } from './api/routes.ts';
import { createCheck } from './checks/check.ts';
import { createConnect } from './checks/connect.ts';
import { createNameLookup } from './checks/name-lookup.ts';
import { type CheckTypes, shippedTypes } from './checks/registry.ts';
import { createSsrfGuard } from './checks/ssrf-guard.ts';
import { createConnectivity } from './connectivity/connectivity.ts';
import { createProbe } from './connectivity/probe.ts';
import { type History, openHistory as openFileHistory } from './history/history.ts';
import { MAX_MONITORS, openMonitors } from './monitors/monitors.ts';
import { createProvisioning, standingMonitors } from './provisioning/provisioning.ts';
import { type MonitorsFile, readMonitorsFile } from './provisioning/read.ts';
import { createCheckRunner } from './scheduler/check-runner.ts';
import { roomForChecks } from './scheduler/room-for-checks.ts';
import { type Clock, systemClock } from './time/clock.ts';

export interface MonitoringOptions {
  kit: ServerKit;
  keys: Keys;
  store: Store;
  /** Networks that checks may reach besides the public internet, CIDRs. */
  allowPrivate: string[];
  /** What tells that this machine's own network is there, `ip` or `ip:port`; its resolvers when there is none. */
  networkAnchors?: string[];
  /** Where clients reach this service; stands in push URLs. */
  addressFor: AddressFor;
  /** Of this program; checks name it to their targets. */
  version: string;
  log: Logger;
  clock?: Clock;
  /** Where results, hours and incidents are kept; in files of the store when absent. `owns` tells the monitors checked here. */
  openHistory?: OpenHistory;
  /** Monitors that all processes on the store take together; what one process can check when absent. */
  maxMonitors?: number;
  /** What the clock of a shared store may be set back by without a change being missed; 30 s when absent. */
  changesOverlapMs?: number;
  /** What declares monitors, a file or folder; without it those that were declared are as all others. */
  monitorsFile?: Omit<MonitorsFile, 'allowPrivate'>;
  /** The types of check that there are; those that the service comes with when absent. */
  types?: CheckTypes;
}

/** Opens the history of the monitors. */
export type OpenHistory = (options: {
  store: Store;
  owns: (monitor: string) => boolean;
  wallMs: () => number;
  log: Logger;
}) => Promise<History> | History;

/**
 * The monitoring service of the contract: adds its API to the server and watches the monitors in the store.
 * Throws when a network in `allowPrivate` is none, and `CorruptDocumentError` when a monitor cannot be read.
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
    monitorsFile,
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
  const { networkAnchors } = options;
  const probe = createProbe({ anchors: networkAnchors?.length ? networkAnchors : undefined });
  const connectivity = createConnectivity({
    probe: probe.isThere,
    nowMs: clock.wallMs,
    onLost(sinceMs) {
      log.warn(
        { since: new Date(sinceMs).toISOString() },
        "this machine's network is down; targets cannot be checked until it is back",
      );
      runner.setNetwork(false);
      askWhetherBack();
    },
    onBack(sinceMs) {
      log.info(
        { since: new Date(sinceMs).toISOString() },
        "this machine's network is back; checking targets again",
      );
      runner.setNetwork(true);
    },
  });
  let cancelAsking = () => {};
  function askWhetherBack() {
    cancelAsking = clock.after(ASK_WHETHER_BACK_MS, () => {
      void connectivity.askWhetherBack().then(() => {
        if (connectivity.lost) askWhetherBack();
      });
    });
  }

  const runner = createCheckRunner({
    monitors,
    leases: store.leases,
    history,
    connectivity,
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
    followsFile: monitorsFile !== undefined,
    runner,
    addressFor,
    clock,
    log,
  });
  const provisioning =
    monitorsFile &&
    createProvisioning({
      path: monitorsFile.path,
      read: (signal) =>
        readMonitorsFile({ ...monitorsFile, allowPrivate: options.allowPrivate }, signal),
      ...{ monitors, runner, store, clock, log },
      maxMonitors: maxMonitors ?? MAX_MONITORS,
      metrics: kit.metrics,
    });
  return {
    /** What keeps monitors as a file declares them, where there is one. */
    provisioning,
    /** All monitors, with their secrets. */
    standing: () => standingMonitors(monitors),
    /** Begins to check; call once the server listens. */
    start(): void {
      if (!probe.canTell()) log.info(OWN_NETWORK_UNKNOWN);
      runner.start();
      provisioning?.start();
    },
    /** Stops checking and waits until everything found is stored. */
    async close(): Promise<void> {
      cancelAsking();
      await provisioning?.close();
      await runner.close();
      await monitors.close();
      await history.close();
    },
  };
}

/** While other processes check what this one cannot. */
const ASK_WHETHER_BACK_MS = 5_000;

const OWN_NETWORK_UNKNOWN =
  "all of this machine's resolvers are on loopback, so all targets count as down if its own network fails; to have " +
  'that detected, set MONITOR_NETWORK_ANCHORS to an address beyond this machine, such as 192.168.0.1:53';
