import { hostname } from 'node:os';
import { BOT_LEASE } from '../app/bot-holder.ts';
import { databaseSentence } from '../app/database-errors.ts';
import { isLoopback, type Settings } from '../app/settings.ts';
import { startupSentence } from '../app/startup-errors.ts';
import { type Finding, ok, problem, warning } from '../bot/shared/finding.ts';
import { counted } from '../bot/shared/text-format.ts';
import { isRunning } from '../store/lowdb/lock.ts';
import type { DatabaseFacts } from '../store/postgres/inspection.ts';

type ConfiguredDatabase = NonNullable<Settings['database']>;

const OLDEST_VERSION = 15;

/** A change takes two round trips, and each process renews its lease every second. */
const SLOW_TRIP_MS = 20;
const SLOW_WORD_MS = 500;

/** Leases expire by the database's clock, while checks are due by the machine's clock. */
const CLOCK_WARNING_MS = 1_000;
const CLOCK_PROBLEM_MS = 5_000;

/** Small tables that change every second have thousands of dead rows between two vacuums. */
const MANY_DEAD = 10_000;

const MIB = 1024 * 1024;

export function databaseFindings(
  facts: DatabaseFacts,
  settings: Pick<ConfiguredDatabase, 'directUrl' | 'poolSize' | 'schema'>,
): Finding[] {
  return [
    serverFinding(facts),
    rightsFinding(facts, settings),
    latencyFinding(facts),
    clockFinding(facts),
    ...listeningFindings(facts, settings),
    ...connectionFindings(facts, settings),
    durabilityFinding(facts),
    ...schemaFindings(facts),
    ...processFindings(facts),
    ...tableFindings(facts, settings),
  ];
}

export function unreachable(error: unknown): Finding {
  return problem('Database', databaseSentence(error) ?? startupSentence(error));
}

function serverFinding({ server }: DatabaseFacts): Finding {
  const check = 'Database';
  const { version, versionNumber, isStandby, isReadOnly } = server;
  if (versionNumber < OLDEST_VERSION * 10_000) {
    const text = `This is PostgreSQL ${version}, but Askwatch needs ${OLDEST_VERSION} or newer. Upgrade the server.`;
    return problem(check, text);
  }
  if (isStandby) {
    const text =
      'DATABASE_URL: this is a standby, which is read-only. Set the address of the primary.';
    return problem(check, text);
  }
  if (isReadOnly) {
    const text =
      'DATABASE_URL: the database is read-only because default_transaction_read_only is on. Turn it off for this user and database, or use another database.';
    return problem(check, text);
  }
  return ok(check, `PostgreSQL ${version} answers`);
}

function rightsFinding(
  { rights, server: { user } }: DatabaseFacts,
  { schema }: { schema: string },
): Finding {
  const check = 'Database rights';
  const { hasSchema, mayUse, mayMakeSchema, tables } = rights;
  if (!hasSchema && !mayMakeSchema) {
    const text = `${user} can't create the schema ${schema}. As a database administrator, run: create schema ${schema} authorization ${user}`;
    return problem(check, text);
  }
  if (hasSchema && !mayUse) {
    const text = `${user} can't create tables in the schema ${schema}. As its owner, run: grant usage, create on schema ${schema} to ${user}`;
    return problem(check, text);
  }
  const others = tables.find(({ isOwn, isUsable }) => !isOwn || !isUsable);
  if (others) {
    const text = `The table ${schema}.${others.name} belongs to ${others.owner}, so ${user} can't use it, or can't change it during an upgrade of Askwatch. Connect as ${others.owner}, or run: grant ${others.owner} to ${user}`;
    return problem(check, text);
  }
  return ok(check, `${user} has all the rights that Askwatch needs in the schema ${schema}`);
}

function latencyFinding({ tripMs }: DatabaseFacts): Finding {
  const check = 'Database latency';
  const text = `${tripMs.toFixed(1)} ms round trip`;
  if (tripMs <= SLOW_TRIP_MS) return ok(check, text);
  return warning(
    check,
    `${text}, and a change takes several. Run Askwatch closer to its database.`,
  );
}

function clockFinding({ skewMs }: DatabaseFacts): Finding {
  const check = 'Database clock';
  const offMs = Math.abs(skewMs);
  if (offMs <= CLOCK_WARNING_MS) return ok(check, "in sync with this machine's");
  const text = `This machine's clock is ${(offMs / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the database's. Sync both with NTP.`;
  return offMs > CLOCK_PROBLEM_MS ? problem(check, text) : warning(check, text);
}

function listeningFindings(
  { listening }: DatabaseFacts,
  { directUrl }: Pick<ConfiguredDatabase, 'directUrl'>,
): Finding[] {
  const check = 'Database LISTEN';
  if (!listening) return [];
  const setting = directUrl === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL';
  if ('error' in listening) {
    const { error } = listening;
    return [problem(check, databaseSentence(error, setting) ?? startupSentence(error))];
  }
  if (!listening.isSame) {
    const text =
      'DATABASE_DIRECT_URL leads to a different database than DATABASE_URL. Set both to the same one.';
    return [problem(check, text)];
  }
  const { heardAfterMs } = listening;
  if (heardAfterMs === undefined) {
    const what = 'LISTEN does not work, so processes see each other’s changes a second late';
    return [
      directUrl === undefined
        ? warning(
            check,
            `${what}. DATABASE_URL goes through a pooler such as PgBouncer. Set DATABASE_DIRECT_URL to the address of the database itself.`,
          )
        : warning(
            check,
            `${what}. DATABASE_DIRECT_URL goes through a pooler, too. Set it to the address of the database itself.`,
          ),
    ];
  }
  const text = `changes arrive after ${heardAfterMs.toFixed(1)} ms`;
  if (heardAfterMs <= SLOW_WORD_MS) return [ok(check, text)];
  return [warning(check, `${text}. The server or the network to it is overloaded; check both.`)];
}

function connectionFindings(
  { server }: DatabaseFacts,
  { poolSize }: Pick<ConfiguredDatabase, 'poolSize'>,
): Finding[] {
  const check = 'Database connections';
  const { maxConnections, reservedConnections, usedConnections } = server;
  // One connection for LISTEN, and one that renews leases.
  const each = poolSize + 2;
  const free = maxConnections - reservedConnections - usedConnections;
  const ways = 'Raise max_connections on the server, or lower DATABASE_POOL';
  const used = `${usedConnections} of ${maxConnections} in use, ${reservedConnections} reserved`;
  if (free < each) {
    return [
      warning(
        check,
        `${used}, and one more process needs up to ${each}. ${ways}, or use a pooler.`,
      ),
    ];
  }
  return [ok(check, `${used}; each process uses up to ${each}`)];
}

function durabilityFinding({ server: { unsafe } }: DatabaseFacts): Finding {
  const check = 'Database durability';
  if (unsafe.length === 0) return ok(check, 'acknowledged changes are on the server’s disk');
  const list = unsafe.join(' and ');
  const text = `${list} ${unsafe.length === 1 ? 'is' : 'are'} off, so acknowledged changes can be lost when the server fails. Turn on ${list}.`;
  return warning(check, text);
}

function schemaFindings({ schema, rights }: DatabaseFacts): Finding[] {
  const check = 'Database schema';
  if (!schema) return [];
  const { applied, unknown, isKnown, pending, refusal } = schema;
  if (!isKnown) {
    const text = `A newer version of Askwatch changed it (${unknown.join(', ')}), and this version can't use it. Start the newer version here, too.`;
    return [problem(check, text)];
  }
  if (refusal !== undefined) return [problem(check, refusal)];
  if (applied.length === 0 && rights.tables.length > 0) {
    const text =
      'Another program has tables in it. Set DATABASE_SCHEMA to a schema that only Askwatch uses.';
    return [problem(check, text)];
  }
  if (applied.length === 0) return [ok(check, 'created at the first start')];
  const parts = [
    `${counted(applied.length, 'change')} applied`,
    ...(unknown.length > 0
      ? [`${unknown.join(', ')} by a newer version, compatible with this one`]
      : []),
    ...(pending.length > 0 ? [`${pending.join(', ')} at the next start`] : []),
  ];
  return [ok(check, parts.join('; '))];
}

function processFindings({ processes }: DatabaseFacts): Finding[] {
  if (!processes) return [];
  const { members, leases } = processes;
  const versions = new Set(members.map(({ version }) => version));
  const list = members
    .map(({ name, version, wants }) => {
      const competes = wants.length > 0 ? `, competes for ${wants.join(', ')}` : '';
      return `${name} (${version}${competes})`;
    })
    .join('; ');
  const alive = `${members.length} alive: ${list}`;
  const replicas =
    versions.size > 1
      ? warning('Replicas', `${alive}. Their versions differ. Start the newest everywhere.`)
      : ok('Replicas', members.length === 0 ? 'none alive' : alive);
  const kinds = [...new Set(leases.map(({ kind }) => kind))].filter((kind) => kind !== BOT_LEASE);
  if (kinds.length === 0) return [replicas];
  const wanted = new Set(members.flatMap(({ wants }) => wants));
  const orphaned = kinds.filter(
    (kind) => wanted.has(kind) && leases.some((one) => one.kind === kind && one.holder === null),
  );
  const text = kinds.map((kind) => `${kind}: ${holdersOf(kind, leases)}`).join('; ');
  return [
    replicas,
    orphaned.length > 0
      ? warning(
          'Leases',
          `${text}. A process takes over the free leases of ${orphaned.join(', ')} within seconds. If that doesn't happen, check the logs of the processes that compete for them.`,
        )
      : ok('Leases', text),
  ];
}

/** Reports the process that has the bot. `url` is its internal address, `undefined` during a hand-over. */
export function botFindings({ processes }: DatabaseFacts, url: string | undefined): Finding[] {
  const check = 'Bot';
  const { members = [], leases = [] } = processes ?? {};
  const lease = leases.find(({ kind }) => kind === BOT_LEASE);
  if (!lease || members.length === 0) return [];
  if (lease.holder === null) {
    const text =
      'No process has it. One with the role bot takes it within seconds. If that does not happen, check the logs.';
    return [warning(check, text)];
  }
  if (url === undefined) {
    return [ok(check, `held by ${lease.holder}; it is starting, or handing the bot over`)];
  }
  const text = `held by ${lease.holder} at ${url}`;
  const machines = new Set(members.map(({ name }) => name.slice(0, name.lastIndexOf(':'))));
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  if (machines.size === 1 || !isLoopback(host)) return [ok(check, text)];
  const advice = 'Other machines cannot reach this address. Set INTERNAL_URL or HOST on each.';
  return [warning(check, `${text}. ${advice}`)];
}

type Leases = NonNullable<DatabaseFacts['processes']>['leases'];

function holdersOf(kind: string, leases: Leases): string {
  const own = leases.filter((one) => one.kind === kind);
  const isWhole = own.length === 1 && own[0]?.count === 1;
  return own
    .map(({ holder, count }) => (isWhole ? '' : `${count} `) + (holder ?? 'free'))
    .join(', ');
}

function tableFindings(
  { tables, server: { autovacuum } }: DatabaseFacts,
  { schema }: Pick<ConfiguredDatabase, 'schema'>,
): Finding[] {
  const check = 'Database tables';
  if (tables.length === 0) return [];
  const bloated = tables.filter(({ dead, live }) => dead > MANY_DEAD && dead > live);
  const findings = bloated.map(({ name, dead, live, vacuumedAt }) => {
    const when = vacuumedAt ? `${vacuumedAt.toISOString().slice(0, 16)}Z` : 'never';
    const text = `${schema}.${name} has ${dead} dead and ${live} live rows; last vacuum: ${when}. Run: vacuum ${schema}.${name}. If they stay, end the transaction or replication slot that holds them.`;
    return warning(check, text);
  });
  if (autovacuum === 'off') {
    const text = 'autovacuum is off, so tables grow with every change. Turn it on.';
    findings.push(warning(check, text));
  }
  if (findings.length > 0) return findings;
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0);
  const largest = tables[0];
  const text = `${Math.ceil(bytes / MIB)} MiB in ${counted(tables.length, 'table')}, most of it in ${largest?.name}; few dead rows`;
  return [ok(check, text)];
}

/** Finds a process on this machine that uses the database. */
export async function programOnDatabase(
  facts: DatabaseFacts,
): Promise<{ finding: Finding; runs: boolean }> {
  const prefix = `${hostname()}:`;
  const names = facts.processes?.members.map(({ name }) => name) ?? [];
  for (const name of names.filter((one) => one.startsWith(prefix))) {
    const pid = Number(name.slice(prefix.length));
    if (await isRunning(pid, undefined)) {
      return { finding: ok('Program', `running here as process ${pid}`), runs: true };
    }
  }
  return { finding: ok('Program', 'not running on this machine'), runs: false };
}
