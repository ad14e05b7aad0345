import { isIP } from 'node:net';
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import type { z } from 'zod';
import { isChannelName } from '../console/playground/channels.ts';
import type { Role } from './variable-types.ts';
import { variables } from './variables.ts';

type VariableName = keyof typeof variables;
type Values = { [Name in VariableName]: z.output<(typeof variables)[Name]['schema']> };

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
  const values = {} as Record<VariableName, unknown>;
  for (const name of Object.keys(variables) as VariableName[]) {
    const given = env[name]?.trim();
    const result = variables[name].schema.safeParse(given === '' ? undefined : given);
    if (result.success) values[name] = result.data;
    else problems.push(...result.error.issues.map((issue) => `${name}: ${issue.message}`));
  }
  if (problems.length === 0) problems.push(...conflicts(values as Values));
  if (problems.length > 0) throw new SettingsError(problems.join('\n'));
  return settingsFrom(values as Values, secretsIn(env));
}

type Rule = [broken: boolean, problem: string];

/** Rules about Slack in several workspaces, which install the app themselves. */
function installRules(v: Values): Rule[] {
  const { SLACK_CLIENT_ID: id, SLACK_CLIENT_SECRET: secret } = v;
  const installs = installsSlack(v);
  const channels = v.ALERT_CHANNELS.filter(({ platform }) => platform === 'slack');
  const withWorkspace = (channel: string) => /^T[A-Z0-9]+\/[A-Z0-9]+$/.test(channel);
  return [
    [
      id !== undefined && secret === undefined,
      'SLACK_CLIENT_SECRET: set it too; it stands beside the client id under "Basic Information"',
    ],
    [
      id === undefined && secret !== undefined,
      'SLACK_CLIENT_ID: set it too; it stands beside the client secret under "Basic Information"',
    ],
    [
      installs && v.SLACK_BOT_TOKEN !== undefined,
      'SLACK_BOT_TOKEN: unset it, since with SLACK_CLIENT_ID each workspace gives its own; for one workspace, unset SLACK_CLIENT_ID and SLACK_CLIENT_SECRET',
    ],
    [
      installs && !v.SLACK_APP_TOKEN && !v.SLACK_SIGNING_SECRET,
      'SLACK_SIGNING_SECRET: set it too (HTTP), or SLACK_APP_TOKEN (Socket Mode)',
    ],
    [
      installs && !channels.every(({ channel }) => withWorkspace(channel)),
      'ALERT_CHANNELS: with SLACK_CLIENT_ID, name each channel of Slack with its workspace: slack:T0123/C0123',
    ],
    [
      !installs && channels.some(({ channel }) => withWorkspace(channel)),
      'ALERT_CHANNELS: with one workspace, name its channels alone: slack:C0123',
    ],
  ];
}

const installsSlack = (v: Values) =>
  v.SLACK_CLIENT_ID !== undefined && v.SLACK_CLIENT_SECRET !== undefined;

/** Rules between variables. */
function conflicts(v: Values): string[] {
  const installs = v.SLACK_CLIENT_ID !== undefined || v.SLACK_CLIENT_SECRET !== undefined;
  const runs = (role: Role) => v.ASKWATCH_ROLES.includes(role);
  const rules: Rule[] = [
    [
      v.DATABASE_URL !== undefined,
      'DATABASE_URL: this version keeps its state in DATA_DIR only; unset it',
    ],
    [
      v.SLACK_BOT_TOKEN !== undefined && !v.SLACK_APP_TOKEN && !v.SLACK_SIGNING_SECRET,
      'SLACK_APP_TOKEN: set it too (Socket Mode), or SLACK_SIGNING_SECRET (HTTP)',
    ],
    [
      v.SLACK_BOT_TOKEN === undefined &&
        !installs &&
        Boolean(v.SLACK_APP_TOKEN || v.SLACK_SIGNING_SECRET),
      'SLACK_BOT_TOKEN: set it too; the app is installed under "OAuth & Permissions"',
    ],
    ...installRules(v),
    [
      v.SLACK_APP_TOKEN !== undefined && v.SLACK_SIGNING_SECRET !== undefined,
      'SLACK_SIGNING_SECRET: unset it to use Socket Mode, or unset SLACK_APP_TOKEN to use HTTP',
    ],
    [
      v.DISCORD_TOKEN === undefined && v.DISCORD_GUILD_ID !== undefined,
      'DISCORD_TOKEN: set it too, or unset DISCORD_GUILD_ID',
    ],
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
      v.ALERT_CHANNELS.some((one) => one.platform === 'console' && !isChannelName(one.channel)),
      'ALERT_CHANNELS: a channel of the console has 1 to 40 small letters, digits, - or _, such as console:ops',
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
    slack:
      v.SLACK_BOT_TOKEN || installsSlack(v)
        ? {
            ...given('botToken', v.SLACK_BOT_TOKEN),
            ...installOf(v),
            ...given('appToken', v.SLACK_APP_TOKEN),
            ...given('signingSecret', v.SLACK_SIGNING_SECRET),
            apiUrl: `${v.SLACK_API_URL}/`,
          }
        : undefined,
    discord: v.DISCORD_TOKEN
      ? {
          token: v.DISCORD_TOKEN,
          ...given('guildId', v.DISCORD_GUILD_ID),
          apiUrl: v.DISCORD_API_URL,
          messageContent: v.DISCORD_MESSAGE_CONTENT,
          shards: v.DISCORD_SHARDS,
        }
      : undefined,
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
    providers: {
      ...provider('openai', v.OPENAI_API_KEY, v.OPENAI_BASE_URL),
      ...provider('anthropic', v.ANTHROPIC_API_KEY),
      ...provider('gemini', v.GEMINI_API_KEY),
      ...provider('mistral', v.MISTRAL_API_KEY),
      ...provider('groq', v.GROQ_API_KEY),
      ...provider('xai', v.XAI_API_KEY),
      ...provider('deepseek', v.DEEPSEEK_API_KEY),
      ...provider('openrouter', v.OPENROUTER_API_KEY),
      ...(v.OLLAMA_BASE_URL ? { ollama: { baseUrl: v.OLLAMA_BASE_URL } } : {}),
    },
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

/** For several workspaces; who is in a user group can be asked where the rights name one. */
function installOf(v: Values) {
  const { SLACK_CLIENT_ID: clientId, SLACK_CLIENT_SECRET: clientSecret } = v;
  if (clientId === undefined || clientSecret === undefined) return {};
  const who = [v.WHO_MAY_ADD, v.WHO_MAY_MANAGE].flatMap((one) => (Array.isArray(one) ? one : []));
  const namesGroup = who.some(
    ({ platform, channel }) => platform === 'slack' && channel[0] === 'S',
  );
  const moreScopes = namesGroup ? ['usergroups:read'] : [];
  return { install: { clientId, clientSecret, moreScopes } };
}

function given<Name extends string>(name: Name, value: string | undefined) {
  return (value === undefined ? {} : { [name]: value }) as { [key in Name]?: string };
}

function elsewhere(baseUrl: string | undefined, apiKey: string | undefined) {
  return baseUrl && apiKey ? { baseUrl, apiKey } : undefined;
}

function provider<Name extends string>(name: Name, apiKey?: string, baseUrl?: string) {
  return (apiKey ? { [name]: { apiKey, ...given('baseUrl', baseUrl) } } : {}) as {
    [key in Name]?: { apiKey: string; baseUrl?: string };
  };
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
