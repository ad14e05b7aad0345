import { z } from 'zod';
import { Monitor, MonitoringPath, MonitorList } from '../contracts/monitoring.ts';
import { addedPath, CURSOR_HEADER, MonitorChanges } from '../contracts/monitoring-additions.ts';
import { oneLine } from '../contracts/one-line.ts';
import { maskedTarget } from '../contracts/secret-values.ts';
import { ContractError, StatusError } from './errors.ts';
import { type ServiceRequest, withQuery } from './service-connection.ts';
import { readLongList, type ServiceResponse, withoutOddAdditions } from './service-response.ts';

/** A row of the list that breaks the contract. */
export interface InvalidMonitor {
  /** Position in the list, from 0. */
  at: number;
  /** Absent if it has none. */
  id?: string;
  /** It can be watched nevertheless. */
  isWatched: boolean;
  /** The fault: names of fields, or a duplicate id. */
  what: string;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** For the whole call, in place of the client's. */
  timeoutMs?: number;
}

export interface ListOptions extends CallOptions {
  onInvalid: (row: InvalidMonitor) => void;
  onCursor: (cursor: string) => void;
}

export type SendRequest = <T>(
  request: ServiceRequest,
  options: CallOptions,
  read: (answer: ServiceResponse) => Promise<T> | T,
) => Promise<T>;

/** A monitor as any service may send it. */
export const ForeignMonitor = withoutOddAdditions(Monitor).extend({
  // Another service may show secrets in a target. They are never kept, sent or logged here.
  target: Monitor.shape.target.overwrite(maskedTarget).overwrite(oneLine),
  // A name with line breaks would be instructions in a prompt.
  name: Monitor.shape.name.overwrite(oneLine),
});

/** A row with an id and a status, which is enough to watch it; the rest may be missing or odd. */
const RepairedMonitor = ForeignMonitor.extend({
  id: z.union([z.string().min(1), z.number().transform(String)]),
  name: ForeignMonitor.shape.name.catch(''),
  check_type: Monitor.shape.check_type.catch('unknown'),
  target: ForeignMonitor.shape.target.catch(''),
  status: z.string().trim().min(1),
  interval_seconds: Monitor.shape.interval_seconds.catch(0),
});
const RowId = RepairedMonitor.pick({ id: true });

const MONITORS = { name: 'monitors', item: ForeignMonitor } as const;
const ListEnvelope = withoutOddAdditions(MonitorList).extend({ monitors: z.array(z.unknown()) });
const ChangesEnvelope = MonitorChanges.extend({ monitors: z.array(z.unknown()) });

/** A longer list is read in pages if the service has them, because parsing a text can't be interrupted. */
const LONG_LIST_BYTES = 4 * 1024 * 1024;

/** Monitors in a page, and most pages; more would never end. */
const PAGE_COUNT = 10_000;
const MAX_PAGES = 1_000;

export class MonitorListReader {
  readonly #send: SendRequest;
  /** The last list was too long to be read at once, and the service has pages. */
  #isInPages = false;
  /** False once the service refused `include_paused`, which isn't in the contract. */
  #takesPaused = true;

  constructor(send: SendRequest) {
    this.#send = send;
  }

  async list(options: ListOptions): Promise<Monitor[]> {
    try {
      return await this.#read(options, this.#takesPaused);
    } catch (error) {
      const isRefused = this.#takesPaused && error instanceof StatusError && error.status === 400;
      if (!isRefused) throw error;
      const active = await this.#read(options, false);
      this.#takesPaused = false;
      return active;
    }
  }

  async changes(
    after: string,
    options: CallOptions,
  ): Promise<{ monitors: Monitor[]; removed: string[]; cursor: string }> {
    const asked = { after, include_paused: this.#takesPaused || undefined };
    const path = withQuery(addedPath('changes', {}), asked);
    return await this.#send({ method: 'GET', path }, options, async (answer) => {
      const list = { ...MONITORS, envelope: ChangesEnvelope, repair: () => undefined };
      const changes = await readLongList(answer, list);
      if (changes.count === changes.monitors.length) return changes;
      throw new ContractError(`${answer.what} answered with incomplete changes.`);
    });
  }

  async #read(options: ListOptions, withPaused: boolean): Promise<Monitor[]> {
    const asked = { include_paused: withPaused || undefined };
    const whole = this.#isInPages ? undefined : await this.#readWhole(asked, options);
    return whole ?? (await this.#readPages(asked, options));
  }

  /** Returns `undefined` for a list that is better read in pages. */
  async #readWhole(
    asked: QueryFlags,
    { onInvalid, onCursor, ...options }: ListOptions,
  ): Promise<Monitor[] | undefined> {
    const path = withQuery(MonitoringPath.monitors, asked);
    return await this.#send({ method: 'GET', path }, options, async (answer) => {
      const cursor = cursorOf(answer);
      if (cursor !== undefined && Number(answer.headers['content-length']) > LONG_LIST_BYTES) {
        answer.body.destroy();
        return undefined;
      }
      const { monitors } = await readMonitors(answer, onInvalid);
      if (cursor !== undefined) onCursor(cursor);
      return monitors;
    });
  }

  /** Throws `ContractError` if the pages don't follow one another. */
  async #readPages(
    asked: QueryFlags,
    { onInvalid, onCursor, ...options }: ListOptions,
  ): Promise<Monitor[]> {
    const all: Monitor[][] = [];
    let after: string | undefined;
    do {
      const path = withQuery(MonitoringPath.monitors, { ...asked, limit: PAGE_COUNT, after });
      const page = await this.#send({ method: 'GET', path }, options, async (answer) => {
        const cursor = cursorOf(answer);
        // The first page's cursor, because changes during the other pages come after it.
        if (after === undefined && cursor !== undefined) onCursor(cursor);
        this.#isInPages = cursor !== undefined;
        return { ...(await readMonitors(answer, onInvalid)), what: answer.what };
      });
      const next = page.next ?? undefined;
      if (all.push(page.monitors) > MAX_PAGES || (next !== undefined && next <= (after ?? ''))) {
        throw new ContractError(`${page.what} answers with an endless list of pages.`);
      }
      after = next;
    } while (after !== undefined);
    return all.flat();
  }
}

type QueryFlags = Readonly<Record<string, true | undefined>>;

/** A list that contradicts itself can't say which monitors are gone. */
async function readMonitors(
  answer: ServiceResponse,
  onInvalid: (row: InvalidMonitor) => void,
): Promise<{ monitors: Monitor[]; next: string | null | undefined }> {
  let unusable = 0;
  const { count, monitors, next } = await readLongList(answer, {
    ...MONITORS,
    envelope: ListEnvelope,
    repair({ at, value, fields }) {
      const { data: repaired } = RepairedMonitor.safeParse(value);
      const { data: row } = RowId.safeParse(value);
      if (!repaired) unusable += 1;
      const what = fields.join(', ');
      onInvalid({ at, ...(row && { id: row.id }), isWatched: repaired !== undefined, what });
      return repaired && { ...repaired, name: repaired.name || repaired.target || repaired.id };
    },
  });
  if (count !== monitors.length + unusable) {
    throw new ContractError(
      `${answer.what} counts ${count} monitors but lists ${monitors.length + unusable}; the list is incomplete.`,
    );
  }
  return { monitors: withoutDuplicates(monitors, onInvalid), next };
}

/** `undefined` if the service doesn't report changes. */
function cursorOf({ headers }: ServiceResponse): string | undefined {
  const cursor = headers[CURSOR_HEADER];
  return typeof cursor === 'string' && cursor !== '' ? cursor : undefined;
}

/** Keeps one row for each id: the first that isn't UP, so that no outage hides behind a duplicate. */
function withoutDuplicates(
  monitors: Monitor[],
  onInvalid: (row: InvalidMonitor) => void,
): Monitor[] {
  const byId = new Map<string, Monitor>();
  for (const [at, monitor] of monitors.entries()) {
    const { id } = monitor;
    const known = byId.get(id);
    if (known) onInvalid({ at, id, isWatched: true, what: 'the same id twice' });
    if (!known || isUp(known)) byId.set(id, known && isUp(monitor) ? known : monitor);
  }
  return byId.size === monitors.length ? monitors : [...byId.values()];
}

const isUp = ({ status }: Monitor) => status.toUpperCase() === 'UP';
