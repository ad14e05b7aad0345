import { isIP } from 'node:net';
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import {
  type ConfiguredPlatform,
  given,
  type NamedPlaces,
  type Rule,
  type ValuesOf,
} from '../app/platforms/registration.ts';
import { platforms } from '../app/platforms.ts';
import type { Place } from '../bot/shared/place.ts';
import { PROVIDER_TABLE } from '../gateway/providers/provider-table.ts';
import type { ProviderSettings } from '../gateway/providers/providers.ts';
import type { Role } from './variable-types.ts';
import { type programVariables, variables } from './variables.ts';

type Values = ValuesOf<typeof programVariables>;

/** A setting is wrong; the message names each variable and says what to do, and never shows its value. */
export class SettingsError extends Error {
  override name = 'SettingsError' as const;
}

/** All settings, checked, in the shape the program uses. */
export type Settings = ReturnType<typeof readSettings>;

/**
 * Reads every setting from the environment; an empty variable counts as not set.
 * Throws a `SettingsError` that lists everything wrong at once.
 */
export function readSettings(env: NodeJS.ProcessEnv) {
  const problems: string[] = [];
  const read: Record<string, unknown> = {};
  for (const [name, { schema }] of Object.entries(variables)) {
    const given = env[name]?.trim();
    const result = schema.safeParse(given === '' ? undefined : given);
    if (result.success) read[name] = result.data;
    else problems.push(...result.error.issues.map((issue) => `${name}: ${issue.message}`));
  }
  const values = read as Values;
  if (problems.length === 0) problems.push(...conflicts(values));
  if (problems.length > 0) throw new SettingsError(problems.join('\n'));
  return settingsFrom(values, secretsIn(env));
}

/** Rules between variables. */
function conflicts(v: Values): string[] {
  const runs = (role: Role) => v.ASKWATCH_ROLES.includes(role);
  const rules: Rule[] = [
    [
      v.DATABASE_URL !== undefined,
      'DATABASE_URL: this version keeps its state in DATA_DIR only; unset it',
    ],
    ...platforms.flatMap((platform) => platform.problems(v, namedOn(platform.name, v))),
    [
      v.GATEWAY_BASE_URL !== undefined && v.GATEWAY_API_KEY === undefined,
      'GATEWAY_API_KEY: set it too; the gateway at GATEWAY_BASE_URL asks for a key',
    ],
    [
      v.GATEWAY_BASE_URL === undefined && v.GATEWAY_API_KEY !== undefined,
      'GATEWAY_BASE_URL: set it too, or unset GATEWAY_API_KEY; the embedded gateway needs neither',
    ],
    [
      v.MONITORING_BASE_URL !== undefined && v.MONITORING_API_KEY === undefined,
      'MONITORING_API_KEY: set it too; the service at MONITORING_BASE_URL asks for a key',
    ],
    [
      v.MONITORING_BASE_URL === undefined && v.MONITORING_API_KEY !== undefined,
      'MONITORING_BASE_URL: set it too, or unset MONITORING_API_KEY; the embedded service needs neither',
    ],
    [
      runs('bot') && !runs('gateway') && v.GATEWAY_BASE_URL === undefined,
      'GATEWAY_BASE_URL: set it, or add gateway to ASKWATCH_ROLES; the bot needs a gateway',
    ],
    [
      runs('bot') && !runs('monitoring') && v.MONITORING_BASE_URL === undefined,
      'MONITORING_BASE_URL: set it, or add monitoring to ASKWATCH_ROLES; the bot needs the service',
    ],
    [
      runs('console') && !isLoopback(v.HOST) && v.CONSOLE_PASSWORD === undefined,
      'CONSOLE_PASSWORD: set it (12 characters or more), since HOST lets others reach the console; or set HOST=127.0.0.1, or leave console out of ASKWATCH_ROLES',
    ],
    [
      runs('console') && !runs('bot') && !runs('monitoring') && v.MONITORING_BASE_URL === undefined,
      'ASKWATCH_ROLES: add bot or monitoring, or set MONITORING_BASE_URL; the console has nothing to show',
    ],
  ];
  return rules.filter(([broken]) => broken).map(([, problem]) => problem);
}

function settingsFrom(v: Values, secrets: string[]) {
  const embeddedMonitoring = v.MONITORING_BASE_URL === undefined;
  return {
    /** Those that are set up, by name. */
    platforms: new Map(
      platforms.flatMap((platform): Array<[string, ConfiguredPlatform]> => {
        const configured = platform.configure(v, namedOn(platform.name, v));
        return configured ? [[platform.name, configured]] : [];
      }),
    ),
    gateway: elsewhere(v.GATEWAY_BASE_URL, v.GATEWAY_API_KEY),
    monitoring: elsewhere(v.MONITORING_BASE_URL, v.MONITORING_API_KEY),
    bot: {
      askModel: v.ASK_MODEL,
      askSystemPrompt: v.ASK_SYSTEM_PROMPT,
      askStallMs: v.ASK_STALL_SECONDS * 1000,
      alertPlaces: v.ALERT_CHANNELS,
      mayAdd: v.WHO_MAY_ADD,
      mayManage: v.WHO_MAY_MANAGE,
      alertPollMs: (v.ALERT_POLL_SECONDS || (embeddedMonitoring ? 5 : 15)) * 1000,
    },
    providers: providersFrom(v),
    catalogFile: v.ASKWATCH_CATALOG,
    allowPrivate: v.MONITOR_ALLOW_PRIVATE,
    networkAnchors: v.MONITOR_NETWORK_ANCHORS,
    consolePassword: v.CONSOLE_PASSWORD,
    statusPublic: v.STATUS_PAGE_PUBLIC,
    dataDir: resolve(v.DATA_DIR),
    roles: new Set<Role>(v.ASKWATCH_ROLES),
    publicUrl: v.PUBLIC_URL,
    trustedProxies: v.TRUSTED_PROXIES,
    host: v.HOST,
    port: v.PORT,
    logLevel: v.LOG_LEVEL,
    /** Values that must never be written anywhere. */
    secrets,
  };
}

/** What the settings name on a platform, by its own ids. */
function namedOn(
  name: string,
  v: Pick<Values, 'ALERT_CHANNELS' | 'WHO_MAY_ADD' | 'WHO_MAY_MANAGE'>,
): NamedPlaces {
  const idsOf = (places: readonly Place[]) =>
    places.filter(({ platform }) => platform === name).map(({ channel }) => channel);
  const who = [v.WHO_MAY_ADD, v.WHO_MAY_MANAGE].flatMap((one) => (Array.isArray(one) ? one : []));
  return { channels: idsOf(v.ALERT_CHANNELS), people: idsOf(who) };
}

function elsewhere(baseUrl: string | undefined, apiKey: string | undefined) {
  return baseUrl && apiKey ? { baseUrl, apiKey } : undefined;
}

/** The providers that have a key, and local ones that have an address, by the names of the table. */
function providersFrom(v: Record<string, unknown>): ProviderSettings {
  const providers: Record<string, { apiKey?: string; baseUrl?: string }> = {};
  for (const [name, { setting, local, address }] of Object.entries(PROVIDER_TABLE)) {
    if (!v[setting]) continue;
    providers[name] = {
      ...(!local && given('apiKey', v[setting] as string)),
      ...(address && given('baseUrl', v[address.setting] as string | undefined)),
    };
  }
  return providers;
}

/** The values of the environment that must never be written anywhere. */
export function secretsIn(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(variables).flatMap(([name, { secret }]) => {
    const value = env[name]?.trim();
    return secret && value ? [value] : [];
  });
}

/** Whether only this machine can reach a listener on `host`. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  return isIP(host) !== 0 && ipaddr.isValid(host) && ipaddr.parse(host).range() === 'loopback';
}
