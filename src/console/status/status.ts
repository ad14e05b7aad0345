import type { Logger } from 'pino';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { AddressFor } from '../../http/public-address.ts';
import type { HttpServer } from '../../http/server-types.ts';
import type { Guards } from '../login/guards.ts';
import { createStatusDays } from './days.ts';
import { createFacts } from './facts.ts';
import { createIncidents } from './feed.ts';
import { createStatusPoller } from './poller.ts';
import { addStatusRoutes } from './routes.ts';
import { createStatusStreams } from './streams.ts';
import { createStatusWriter } from './writer.ts';

/** What the status page needs. */
export interface StatusOptions {
  /** Opens a client of the service whose monitors it shows, when somebody first wants to see them. */
  monitoring: () => MonitoringClient;
  /** Between two polls while somebody watches. */
  pollMs: number;
  /** Where others reach the page. */
  addressFor: AddressFor;
  /** Whether anyone may see it, without targets and causes. */
  isPublic?: boolean;
}

/** Adds what the status page talks to under `/status`, and the same for programs. Call before the server listens. */
export function addStatus(
  server: HttpServer,
  guards: Guards,
  options: StatusOptions & { log: Logger },
) {
  let client: MonitoringClient | undefined;
  const monitoring = () => {
    client ??= options.monitoring();
    return client;
  };
  const poller = createStatusPoller({
    ...options,
    monitoring,
    days: createStatusDays({ monitoring, log: options.log }),
  });
  const writer = createStatusWriter();
  const streams = createStatusStreams(poller, writer);
  addStatusRoutes(server, guards, {
    poller,
    writer,
    streams,
    addressFor: options.addressFor,
    facts: createFacts(monitoring),
    incidents: createIncidents(monitoring),
  });
  return {
    /** Ends all streams and what is under way. */
    async close() {
      streams.close();
      await poller.close();
      await client?.close();
    },
  };
}
