import { resolve } from 'node:path';
import { z } from 'zod';
import type { Place } from '../bot/shared/place.ts';
import type { BotSettings } from '../bot/shared/settings.ts';
import { StreamStallMs } from '../contracts/gateway.ts';
import { PROVIDER_TABLE } from '../gateway/providers/provider-table.ts';
import type { ProviderSettings } from '../gateway/providers/providers.ts';
import { readAddress } from '../http/address.ts';
import type { NamedPlaces, PlatformSettings, SettingsRule } from './platform-settings.ts';
import {
  anchors,
  cidrs,
  httpUrl,
  httpUrls,
  places,
  postgresUrl,
  proxies,
  publicUrl,
  ROLES,
  readVariables,
  roles,
  secret,
  text,
  trueOrFalse,
  type ValuesOf,
  type VariableTable,
  who,
  wholeNumber,
} from './variable-types.ts';

const serviceVariables = (prefix: 'GATEWAY' | 'MONITORING', about: string) => ({
  baseUrl: {
    name: `${prefix}_BASE_URL`,
    about,
    shown: 'the embedded one',
    schema: httpUrl().optional(),
  },
  apiKey: secret(`${prefix}_API_KEY`, 'its API key'),
});

const gatewayVariables = serviceVariables('GATEWAY', 'URL of an external model gateway');
const monitoringVariables = serviceVariables('MONITORING', 'URL of an external monitoring service');

const toMs = (seconds: number) => seconds * 1000;

const askVariables = {
  askModel: {
    name: 'ASK_MODEL',
    about: 'default model for `/ask`',
    shown: 'the first text model in the catalog',
    schema: text(),
  },
  askSystemPrompt: {
    name: 'ASK_SYSTEM_PROMPT',
    about: 'system prompt sent before every conversation',
    shown: 'a short built-in one',
    schema: text(),
  },
  askStallMs: {
    name: 'ASK_STALL_SECONDS',
    about: 'seconds without new text after which an answer ends with a note',
    shown: String(StreamStallMs.gateway / 1000),
    schema: wholeNumber(1, 600).transform(toMs).default(StreamStallMs.gateway),
  },
  feedbackDays: {
    name: 'FEEDBACK_DAYS',
    about:
      'days to keep rated answers for `askwatch feedback export`; 0 keeps only the ratings, without questions and answers',
    shown: '90',
    schema: wholeNumber(0, 3650).default(90),
  },
};

const alertVariables = (known: readonly PlatformSettings[]) => ({
  alertPlaces: {
    name: 'ALERT_CHANNELS',
    about:
      'channels that get every alert: `slack:C0123,discord:4567`; with several workspaces `slack:T0123/C0123`; to another program `webhook:https://example.com/hook`, see docs/alerts-elsewhere.md',
    shown: '',
    secretsIn: (value: string) => value.match(/https?:\/\/[^\s,]+/g) ?? [],
    schema: places(known),
  },
  alertPollMs: {
    name: 'ALERT_POLL_SECONDS',
    about: 'seconds between polls of the monitors',
    shown: '15; 5 with the embedded service',
    schema: wholeNumber(1, 3600).transform(toMs).optional(),
  },
  alertmanagerUrls: {
    name: 'ALERTMANAGER_URL',
    about:
      'the Alertmanager in which snoozing one of its alerts creates a silence: `http://alertmanager:9093`, with `user:password@` if it needs a login. Separate several with commas; an intake uses the first unless `/monitor intake add` names another',
    shown: 'none',
    secret: true as const,
    schema: httpUrls.optional(),
  },
});

const rightsVariables = (known: readonly PlatformSettings[]) => ({
  mayAdd: {
    name: 'WHO_MAY_ADD',
    about:
      'who can add monitors: `everyone`, `managers` (of the workspace or server), or the ids of more people, user groups and roles: `slack:S0123,discord:4567`',
    shown: 'everyone',
    schema: who('everyone', known),
  },
  mayManage: {
    name: 'WHO_MAY_MANAGE',
    about:
      'who can pause and remove monitors and change how a channel gets alerts and answers; same format as `WHO_MAY_ADD`',
    shown: 'managers',
    schema: who('managers', known),
  },
});

/** The variables of the model providers, from their table: a key unless it needs none, and an address where one can be given. */
const providerVariables = Object.fromEntries(
  Object.values(PROVIDER_TABLE)
    .flatMap(({ title, setting, baseUrl: shown, local, address }) => [
      ...(local ? [] : [secret(setting, `answers with ${title}`)]),
      ...(address
        ? [
            {
              name: address.setting,
              about: address.about,
              shown,
              schema: httpUrl().optional(),
            },
          ]
        : []),
    ])
    .map((declared) => [declared.name, declared]),
);

const catalogVariables = {
  catalogFile: {
    name: 'ASKWATCH_CATALOG',
    about: 'your own model catalog file',
    shown: 'the built-in one',
    schema: text(),
  },
};

const checkVariables = {
  allowPrivate: {
    name: 'MONITOR_ALLOW_PRIVATE',
    about:
      'address ranges that checks can reach in addition to public addresses: `127.0.0.1/32,10.0.0.0/8`',
    shown: 'none',
    schema: cidrs,
  },
  monitorsFile: {
    name: 'MONITORS_FILE',
    about:
      'a YAML or JSON file, or a folder of them, that declares monitors; Askwatch keeps them in sync with it, see docs/monitors-as-code.md',
    shown: 'none',
    schema: text(),
  },
  networkAnchors: {
    name: 'MONITOR_NETWORK_ANCHORS',
    about:
      'addresses outside this machine that answer over TCP whenever its own network works: `192.168.0.1,9.9.9.9:443`; the default port is 53',
    shown: "this machine's DNS resolvers",
    schema: anchors,
  },
};

const programVariables = {
  statusPublic: {
    name: 'STATUS_PAGE_PUBLIC',
    about:
      '`true` shows the status page, its badges and its feed to anyone: names and statuses, never targets or causes',
    shown: 'false',
    schema: trueOrFalse.prefault('false'),
  },
  mcpWrites: {
    name: 'MCP_WRITES',
    about:
      '`true` lets assistants change monitors at `/mcp` with a key that has write access; otherwise they can only read',
    shown: 'false',
    schema: trueOrFalse.prefault('false'),
  },
  mcpConfigFile: {
    name: 'MCP_CONFIG',
    about:
      'a JSON file of MCP servers, in the usual `mcpServers` format, whose tools `/ask` can use in addition to its own',
    shown: 'none',
    schema: text(),
  },
  publicUrl: {
    name: 'PUBLIC_URL',
    about:
      'public URL of Askwatch behind a proxy or a load balancer: `https://askwatch.example.com`; used in push addresses, feeds, badges and examples',
    shown:
      'the address of the request if `HOST` is open to others or a trusted proxy forwards it, otherwise the address it listens on',
    schema: publicUrl,
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    about:
      'addresses and address ranges of your proxies, whose `X-Forwarded-For`, `-Proto` and `-Host` Askwatch trusts: `127.0.0.1,10.0.0.0/24`; if unset, everyone behind a proxy counts as one address',
    shown: 'none',
    schema: proxies,
  },
  dataDir: {
    name: 'DATA_DIR',
    about: 'folder for all stored data',
    shown: './data',
    schema: z
      .string()
      .default('./data')
      .transform((folder) => resolve(folder)),
  },
  databaseUrl: secret(
    'DATABASE_URL',
    'PostgreSQL 15 or newer, used instead of `DATA_DIR` so that several processes can run: `postgres://user:password@host:5432/askwatch`',
    postgresUrl(),
  ),
  databaseDirectUrl: secret(
    'DATABASE_DIRECT_URL',
    'the same database without a pooler, if `DATABASE_URL` goes through one; used for LISTEN and schema changes',
    postgresUrl(),
  ),
  databasePool: {
    name: 'DATABASE_POOL',
    about:
      'PostgreSQL connections per process, plus two: one listens for changes, one shows that the process is alive',
    shown: '10',
    schema: wholeNumber(2, 200).default(10),
  },
  databaseSchema: {
    name: 'DATABASE_SCHEMA',
    about: 'PostgreSQL schema for all tables',
    shown: 'askwatch',
    schema: z
      .string()
      .regex(/^[a-z_][a-z0-9_]{0,62}$/, {
        error: 'must be at most 63 lowercase letters, digits or _, and must not start with a digit',
      })
      .default('askwatch'),
  },
  internalUrl: {
    name: 'INTERNAL_URL',
    about:
      'URL at which the other processes on the same `DATABASE_URL` reach this one, without a proxy in between: `http://10.0.0.7:3000`; they forward requests for the bot to the process that has it',
    shown: 'the address it listens on',
    schema: z
      .string()
      .regex(
        /^http:\/\/[^/?#@\s]+$/,
        'must be http://, a host or address and a port, such as http://10.0.0.7:3000',
      )
      .optional(),
  },
  roles: {
    name: 'ASKWATCH_ROLES',
    about: 'parts that run in this process',
    shown: ROLES.join(','),
    schema: roles,
  },
  consolePassword: secret(
    'CONSOLE_PASSWORD',
    'password for the web console, 12 to 500 characters; if unset, the console opens only on this machine, for everyone there',
    z
      .string()
      .min(12, 'must have at least 12 characters; generate one with: openssl rand -base64 18')
      .max(500, 'must have at most 500 characters')
      .optional(),
  ),
  host: {
    name: 'HOST',
    about: 'address to listen on; if others can reach it, the console needs `CONSOLE_PASSWORD`',
    shown: '127.0.0.1',
    schema: z.string().default('127.0.0.1'),
  },
  port: {
    name: 'PORT',
    about:
      'port for both services, the console, `/healthz`, `/readyz` and `/metrics`; 0 picks a free one',
    shown: '3000',
    schema: wholeNumber(0, 65_535).default(3000),
  },
  logLevel: {
    name: 'LOG_LEVEL',
    about: 'trace, debug (logs every request), info, warn, error or silent',
    shown: 'info',
    schema: z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
        error: 'must be trace, debug, info, warn, error or silent',
      })
      .default('info'),
  },
  logFormat: {
    name: 'LOG_FORMAT',
    about: 'json, pretty (for people), or auto (pretty on a terminal)',
    shown: 'auto',
    schema: z
      .enum(['auto', 'pretty', 'json'], { error: 'must be auto, pretty or json' })
      .default('auto'),
  },
};

/** Every setting, by group and in the order of docs/settings.md. */
export function variablesOf(known: readonly PlatformSettings[]) {
  const groups: Array<[group: string, table: VariableTable]> = [
    ...known.map(({ title, variables }): [string, VariableTable] => [title, variables]),
    ['Services', gatewayVariables],
    ['Services', monitoringVariables],
    ['Asking', askVariables],
    ['Alerts', alertVariables(known)],
    ['Rights', rightsVariables(known)],
    ['Models', providerVariables],
    ['Models', catalogVariables],
    ['Monitoring', checkVariables],
    ['Program', programVariables],
  ];
  return groups.flatMap(([group, table]) =>
    Object.values(table).map((declared) => ({ ...declared, group })),
  );
}

/** A setting is wrong; the message names each variable and says what to do, and never shows its value. */
export class SettingsError extends Error {
  override name = 'SettingsError' as const;
}

/** An empty variable counts as not set. Throws a `SettingsError` that lists everything wrong at once. */
export function readSettings<Configured>(
  env: NodeJS.ProcessEnv,
  known: ReadonlyArray<PlatformSettings<Configured>>,
) {
  const problems: string[] = [];
  const read = <Table extends VariableTable>(table: Table) => readVariables(table, env, problems);
  const chat = known.map((platform) => ({ platform, values: read(platform.variables) }));
  const gateway = read(gatewayVariables);
  const monitoring = read(monitoringVariables);
  const bot = {
    ...read(askVariables),
    ...read(alertVariables(known)),
    ...read(rightsVariables(known)),
  };
  const providers = read(providerVariables);
  const program = {
    ...read(catalogVariables),
    ...read(checkVariables),
    ...read(programVariables),
  };
  refuse(problems);

  const namedOn = (platform: string) => namedPlaces(platform, bot);
  const rules: SettingsRule[] = [
    [
      program.databaseUrl === undefined && program.databaseDirectUrl !== undefined,
      'DATABASE_URL: set it too, or unset DATABASE_DIRECT_URL, which is the same database without a pooler',
    ],
    ...chat.flatMap(({ platform, values }) => platform.problems(values, namedOn(platform.name))),
    ...serviceRules('GATEWAY', 'gateway', gateway),
    ...serviceRules('MONITORING', 'service', monitoring),
    ...roleRules(program, { gateway, monitoring }),
  ];
  refuse(rules.filter(([isBroken]) => isBroken).map(([, problem]) => problem));

  const { databaseUrl, databaseDirectUrl, databasePool, databaseSchema, ...others } = program;
  return {
    ...others,
    /** PostgreSQL, where state is kept there instead of in the data folder. */
    database: databaseUrl
      ? {
          url: databaseUrl,
          directUrl: databaseDirectUrl,
          poolSize: databasePool,
          schema: databaseSchema,
        }
      : undefined,
    gateway: elsewhere(gateway),
    monitoring: elsewhere(monitoring),
    bot: {
      ...bot,
      alertPlaces: bot.alertPlaces.map((place) => placeOf(place, known)),
      alertPollMs: bot.alertPollMs ?? (monitoring.baseUrl ? 15_000 : 5_000),
      // Without a database no other process shows the pages of this one's console.
      pagesUrl: program.roles.has('console') || databaseUrl ? program.publicUrl : undefined,
    },
    providers: providersFrom(providers),
    /** Configured platforms by name. */
    platforms: new Map(
      chat.flatMap(({ platform: { name, configure }, values }) => {
        const configured = configure(values, namedOn(name));
        return configured ? [[name, configured] as const] : [];
      }),
    ),
    /** Values that must never be written anywhere. */
    secrets: secretsIn(env, variablesOf(known)),
  };
}

function refuse(problems: string[]): void {
  if (problems.length > 0) throw new SettingsError(problems.join('\n'));
}

type ServiceSettings = ValuesOf<ReturnType<typeof serviceVariables>>;

function serviceRules(
  prefix: string,
  name: string,
  { baseUrl, apiKey }: ServiceSettings,
): SettingsRule[] {
  return [
    [
      baseUrl !== undefined && apiKey === undefined,
      `${prefix}_API_KEY: set it too; the ${name} at ${prefix}_BASE_URL needs a key`,
    ],
    [
      baseUrl === undefined && apiKey !== undefined,
      `${prefix}_BASE_URL: set it too, or unset ${prefix}_API_KEY; the embedded ${name} needs neither`,
    ],
  ];
}

/** Rules about settings that the roles of this process require. */
function roleRules(
  {
    roles,
    host,
    consolePassword,
    monitorsFile,
  }: ValuesOf<typeof programVariables> & ValuesOf<typeof checkVariables>,
  { gateway, monitoring }: { gateway: ServiceSettings; monitoring: ServiceSettings },
): SettingsRule[] {
  const hasMonitoring = roles.has('monitoring') || monitoring.baseUrl !== undefined;
  return [
    [
      roles.has('bot') && !roles.has('gateway') && gateway.baseUrl === undefined,
      'GATEWAY_BASE_URL: set it, or add gateway to ASKWATCH_ROLES; the bot needs a gateway',
    ],
    [
      roles.has('bot') && !hasMonitoring,
      'MONITORING_BASE_URL: set it, or add monitoring to ASKWATCH_ROLES; the bot needs a monitoring service',
    ],
    [
      roles.has('console') && !isLoopback(host) && consolePassword === undefined,
      'CONSOLE_PASSWORD: set it (12 characters or more) because HOST lets others reach the console; or set HOST=127.0.0.1, or remove console from ASKWATCH_ROLES',
    ],
    [
      monitorsFile !== undefined && monitoring.baseUrl !== undefined,
      'MONITORS_FILE: unset it, or unset MONITORING_BASE_URL; the file applies only to the embedded service, so set it where the service at MONITORING_BASE_URL runs',
    ],
    [
      monitorsFile !== undefined && !roles.has('monitoring'),
      'MONITORS_FILE: unset it, or add monitoring to ASKWATCH_ROLES; only a process that runs the monitoring service reads the file',
    ],
    [
      roles.has('console') && !roles.has('bot') && !hasMonitoring,
      'ASKWATCH_ROLES: add bot or monitoring, or set MONITORING_BASE_URL; otherwise the console has nothing to show',
    ],
  ];
}

function namedPlaces(
  name: string,
  { alertPlaces, mayAdd, mayManage }: Pick<BotSettings, 'alertPlaces' | 'mayAdd' | 'mayManage'>,
): NamedPlaces {
  const idsOf = (places: readonly Place[]) =>
    places.filter(({ platform }) => platform === name).map(({ channel }) => channel);
  const people = [mayAdd, mayManage].flatMap((who) => (Array.isArray(who) ? who : []));
  return { channels: idsOf(alertPlaces), people: idsOf(people) };
}

/** The place as everything but its platform knows it. */
function placeOf(place: Place, known: readonly PlatformSettings[]): Place {
  const platform = known.find(({ name }) => name === place.platform);
  return { ...place, channel: platform?.channelId?.(place.channel) ?? place.channel };
}

function elsewhere({ baseUrl, apiKey }: ServiceSettings) {
  return baseUrl && apiKey ? { baseUrl, apiKey } : undefined;
}

/** The providers that have a key, and local ones that have an address, by the names of the table. */
function providersFrom(values: { [setting: string]: string | undefined }): ProviderSettings {
  return Object.fromEntries(
    Object.entries(PROVIDER_TABLE).flatMap(([name, { setting, local, address }]) => {
      const [given, baseUrl] = [values[setting], values[address?.setting ?? '']];
      if (!given) return [];
      return [[name, { ...(!local && { apiKey: given }), ...(baseUrl && { baseUrl }) }]];
    }),
  );
}

export function secretsIn(
  env: NodeJS.ProcessEnv,
  variables: ReturnType<typeof variablesOf>,
): string[] {
  return variables.flatMap(({ name, secret, secretsIn }) => {
    const value = env[name]?.trim();
    const parts = value && secretsIn ? secretsIn(value) : [];
    return secret && value
      ? [value, ...[value, ...value.split(',')].flatMap(passwordIn)]
      : [...parts, ...parts.flatMap(passwordIn)];
  });
}

/** The password of an address: a library's error may name it alone. */
function passwordIn(value: string): string[] {
  const { password = '' } = URL.canParse(value) ? new URL(value) : {};
  return password === '' ? [] : [...new Set([password, decodeURIComponent(password)])];
}

/** True if only this machine can reach a listener on `host`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || readAddress(host)?.range() === 'loopback';
}
