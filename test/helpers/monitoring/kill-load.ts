import { Pool } from 'undici';
import { type Monitor, MonitoringPath, MonitorList } from '../../../src/contracts/monitoring.ts';
import { AddedPath, MAX_WINDOWS } from '../../../src/contracts/monitoring-additions.ts';

/** What the service has acknowledged about one monitor. */
export interface Told {
  id: string;
  definition: { name: string; check_type: string; target: string };
  /** Path of its push endpoint; undefined when it is no heartbeat. */
  push: string | undefined;
  /** As it was shown after the last answer that acknowledged something. */
  shown: Pick<Monitor, 'status' | 'status_changes' | 'status_changed_at'> | undefined;
  /** When the last acknowledged ping was sent at the earliest, Unix milliseconds. */
  pingedMs: number | undefined;
  /** Lengths in minutes of the maintenance windows that it has, and those that it may have by a request without an answer. */
  windows: { set: readonly number[]; asked: readonly number[] | undefined };
  /** It was asked to be removed: `asked` while there is no answer. */
  removal: 'asked' | 'acknowledged' | undefined;
  /** Went DOWN, acknowledged, since the last restart. */
  downs: Array<{ number: number; sinceMs: number }>;
}

/** All that was acknowledged so far. */
export type Book = Map<string, Told>;

/** What is asked for. */
export type Kind =
  | 'create'
  | 'signal'
  | 'check'
  | 'pause'
  | 'resume'
  | 'remove'
  | 'plan'
  | 'look'
  | 'list';

/** One run of the load, until the process it loads is killed. */
export interface KillLoad {
  acknowledged(): number;
  /** Call before the kill: requests that break from now on are no fault. */
  expectKill(): void;
  /** Resolves when no request is under way; throws what went wrong before the kill. */
  ended(): Promise<void>;
}

export interface KillLoadOptions {
  url: string;
  keys: readonly string[];
  book: Book;
  random: () => number;
  /** Told of each answer that acknowledges something, once it is in the book. */
  onAnswer: (kind: Kind) => void;
  /** Where the monitors look: a path of it passes unless it was set down. */
  web: { url: string; setDown(path: string, down: boolean): void };
}

const LANES = 4;

/** A midnight within the days that can be asked for, and after any that a run sees. */
const farDay = () => `${new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 11)}00:00`;

/** Creates, pings, changes and removes monitors in several lanes, and writes down every answer. */
export function startKillLoad(options: KillLoadOptions): KillLoad {
  const { url, keys, book, random, onAnswer, web } = options;
  const pool = new Pool(url, { connections: LANES });
  let acknowledged = 0;
  let killing = false;
  let asked = 0;

  /** Gives the answer of a call, or undefined when the rate limit refused it. */
  async function call(method: 'GET' | 'POST' | 'DELETE', path: string, json?: unknown) {
    const key = keys[asked % keys.length] ?? '';
    asked += 1;
    const answer = await pool.request({
      method,
      path,
      headers: {
        'x-api-key': key,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: json === undefined ? null : JSON.stringify(json),
    });
    const text = await answer.body.text();
    if (answer.statusCode === 429) return undefined;
    if (answer.statusCode >= 300)
      throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  }

  function count(kind: Kind) {
    acknowledged += 1;
    onAnswer(kind);
  }

  const pathOf = (path: string, { id }: Told) => path.replace(':id', id);

  async function create(lane: number) {
    const isJob = random() < 0.5;
    const name = `${isJob ? 'job' : 'page'} ${lane} ${asked}`;
    const definition = isJob
      ? { name, check_type: 'HEARTBEAT', target: name }
      : { name, check_type: 'HTTP', target: `${web.url}/${lane}/${asked}` };
    // Looked at only when asked to, so that every change of status has an answer that tells it.
    const config = isJob ? {} : { confirm_down: 1, interval_seconds: 86_400, retry_seconds: 3_600 };
    const answer = await call('POST', MonitoringPath.monitors, { ...definition, config });
    if (answer === undefined) return;
    const id = String(answer.id);
    const push = isJob ? new URL(String(answer.push_url)).pathname : undefined;
    const told: Told = {
      id,
      definition,
      push,
      shown: undefined,
      pingedMs: undefined,
      windows: { set: [], asked: undefined },
      removal: undefined,
      downs: [],
    };
    book.set(id, told);
    own[lane]?.push(told);
    count('create');
  }

  async function signal(told: Told) {
    const sentMs = Date.now();
    const fails = random() < 0.4;
    const answer = await call('POST', `${told.push}${fails ? '/fail' : ''}`);
    if (answer === undefined) return;
    if (!fails) told.pingedMs = sentMs;
    count('signal');
    await look(told);
  }

  /** Takes over what an answer showed. */
  function take(kind: Kind, told: Told, shown: Record<string, unknown> | undefined) {
    if (shown === undefined) return;
    note(told, shown as unknown as Monitor);
    count(kind);
  }

  async function look(told: Told) {
    take('look', told, await call('GET', pathOf(AddedPath.monitor, told)));
  }

  /** What the list shows is durable as well, of all monitors and whoever changed them. */
  async function list() {
    const answer = await call('GET', `${MonitoringPath.monitors}?include_paused=true`);
    if (answer === undefined) return;
    for (const shown of MonitorList.parse(answer).monitors) {
      const told = book.get(shown.id);
      // Another lane may have been told of more since this was asked for.
      const known = told?.shown?.status_changes ?? -1;
      if (told && (shown.status_changes ?? 0) > known) note(told, shown);
    }
    count('list');
  }

  /** Looks, and waits until what was found is stored. */
  async function check(told: Told) {
    web.setDown(new URL(told.definition.target).pathname, random() < 0.5);
    if (!(await call('POST', pathOf(AddedPath.check, told)))) return;
    count('check');
    // A check counts before it is on the disk. To resume what is not paused changes nothing, but it is a write, which
    // comes after those before it: its answer shows what is durable.
    take('resume', told, await call('POST', pathOf(AddedPath.resume, told)));
  }

  async function pause(told: Told) {
    take('pause', told, await call('POST', pathOf(AddedPath.pause, told)));
  }

  async function resume(told: Told) {
    if (!(await call('POST', pathOf(AddedPath.resume, told)))) return;
    if (told.push === undefined) await check(told);
    else await look(told);
  }

  /** One window more, or none any more: of another length than all before it, and never open while this runs. */
  async function plan(told: Told) {
    const { set } = told.windows;
    const minutes = 1 + (asked % 10_000);
    const isMore = set.length < MAX_WINDOWS && random() < 0.8;
    const wanted = isMore ? [...set, minutes] : [];
    told.windows = { set, asked: wanted };
    const window = { starts_at: farDay(), timezone: 'Europe/Berlin', duration_minutes: minutes };
    const plan = { monitors: [told.id], window: isMore ? window : null };
    const answer = await call('POST', AddedPath.planned, plan);
    told.windows = { set: answer ? wanted : set, asked: undefined };
    if (answer) count('plan');
  }

  async function remove(told: Told) {
    told.removal = 'asked';
    const answer = await call('DELETE', pathOf(AddedPath.monitor, told));
    told.removal = answer && 'acknowledged';
    if (answer) count('remove');
  }

  /** Monitors that only this lane touches, so that nobody else changes them between question and answer. */
  const own: Told[][] = Array.from({ length: LANES }, () => []);
  for (const [at, told] of [...book.values()].entries()) {
    told.downs = [];
    if (told.removal === undefined) own[at % LANES]?.push(told);
  }

  async function run(lane: number) {
    while (!killing) {
      const mine = own[lane]?.filter(({ removal }) => removal === undefined) ?? [];
      const told = mine[Math.floor(random() * mine.length)];
      const dice = random();
      if (told === undefined || dice < 0.2) {
        await create(lane);
      } else if (dice < 0.28) await remove(told);
      else if (told.shown?.status === 'PAUSED') await resume(told);
      else if (dice < 0.4) await pause(told);
      else if (dice < 0.5) await list();
      else if (told.push !== undefined && dice < 0.6) await plan(told);
      else await (told.push === undefined ? check(told) : signal(told));
    }
  }

  const lanes = Promise.all(
    Array.from({ length: LANES }, (_, lane) =>
      run(lane).catch((error: unknown) => {
        if (!killing) throw error;
      }),
    ),
  );
  // Looked at when it ends; until then it is no unhandled rejection.
  lanes.catch(() => {});
  return {
    acknowledged: () => acknowledged,
    expectKill() {
      killing = true;
    },
    async ended() {
      try {
        await lanes;
      } finally {
        await pool.destroy();
      }
    },
  };
}

/** Writes down what an answer showed that came after its change was durable. */
function note(told: Told, shown: Monitor): void {
  const { status, status_changes = 0, status_changed_at } = shown;
  const isNew = told.shown === undefined || (told.shown.status_changes ?? 0) < status_changes;
  told.shown = { status, status_changes, status_changed_at };
  if (isNew && status === 'DOWN') {
    told.downs.push({ number: status_changes, sinceMs: Date.parse(status_changed_at ?? '') });
  }
}
