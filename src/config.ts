import { isIP } from 'node:net';
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { type Place, parsePlace } from './bot/platform.ts';

/** The parts of the program that can run by themselves, in the order they start. */
export const ROLES = ['gateway', 'monitoring', 'bot', 'console'] as const;
export type Role = (typeof ROLES)[number];

/** One environment variable: what it is for, what stands in its place when it is not set, and its check. */
interface Variable<T> {
  group: string;
  about: string;
  /** The default as a person reads it; empty when there is none. */
  shown: string;
  secret?: true;
  schema: z.ZodType<T, string | undefined>;
}

function variable<T>(declared: Variable<T>): Variable<T> {
  return declared;
}

const text = () => z.string().optional();

function secret(group: string, about: string, schema = text()) {
  return variable({ group, about, shown: '', secret: true, schema });
}

function startingWith(prefix: string, where: string) {
  return z
    .string()
    .startsWith(prefix, `must start with ${prefix}; copy it from ${where}`)
    .optional();
}

function address(fallback: string) {
  return httpUrl().default(fallback);
}

function httpUrl() {
  return z
    .url({ protocol: /^https?$/, error: 'must be an address such as https://api.example.com' })
    .transform((url) => url.replace(/\/+$/, ''));
}

function wholeNumber(min: number, max: number, fallback: number) {
  return z
    .string()
    .regex(/^\d+$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`)
    .default(fallback);
}

function commaList() {
  return z.string().transform((list) =>
    list
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  );
}

const trueOrFalse = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true');

const places = commaList()
  .transform((items, context): Place[] =>
    items.flatMap((item) => {
      const place = parsePlace(item);
      if (place) return [place];
      context.addIssue(
        `'${item}' must look like slack:C0123456789, discord:123 or console:general`,
      );
      return [];
    }),
  )
  .prefault('');

const cidrs = commaList()
  .refine(
    (items) => items.every((item) => ipaddr.isValidCIDR(item)),
    'must be address ranges such as 127.0.0.1/32,10.0.0.0/8,::1/128',
  )
  .prefault('');

const roles = commaList()
  .refine(
    (items): items is Role[] =>
      items.length > 0 && items.every((item) => (ROLES as readonly string[]).includes(item)),
    `must name one or more of ${ROLES.join(', ')}`,
  )
  .prefault(ROLES.join(','));

const providerKey = (name: string) => secret('Models', `answers with ${name}`);

/** Every setting, in the order of the README. No other file reads the environment. */
export const variables = {
  SLACK_BOT_TOKEN: secret(
    'Slack',
    'bot token of the Slack app',
    startingWith('xoxb-', 'your app at api.slack.com/apps, "OAuth & Permissions"'),
  ),
  SLACK_APP_TOKEN: secret(
    'Slack',
    'app-level token with connections:write: Slack over Socket Mode',
    startingWith('xapp-', 'your app at api.slack.com/apps, "Basic Information"'),
  ),
  SLACK_SIGNING_SECRET: secret(
    'Slack',
    'instead of the app token: Slack over HTTP, at `POST /slack/events` on `PORT`',
  ),
  SLACK_API_URL: variable({
    group: 'Slack',
    about: 'another Slack address, such as GovSlack',
    shown: 'https://slack.com/api/',
    schema: address('https://slack.com/api'),
  }),
  DISCORD_TOKEN: secret('Discord', 'bot token of the Discord application'),
  DISCORD_GUILD_ID: variable({
    group: 'Discord',
    about: 'a server where commands appear at once; without it they are global',
    shown: '',
    schema: z
      .string()
      .regex(/^\d{17,20}$/, 'must be the server id, 17 to 20 digits')
      .optional(),
  }),
  DISCORD_API_URL: variable({
    group: 'Discord',
    about: 'another Discord-compatible address or a proxy',
    shown: 'https://discord.com/api',
    schema: address('https://discord.com/api'),
  }),
  DISCORD_MESSAGE_CONTENT: variable({
    group: 'Discord',
    about: '`true` if that privileged intent is on: follow threads without a mention',
    shown: 'false',
    schema: trueOrFalse.prefault('false'),
  }),
  GATEWAY_BASE_URL: variable({
    group: 'Services',
    about: 'a model gateway elsewhere',
    shown: 'the embedded one',
    schema: httpUrl().optional(),
  }),
  GATEWAY_API_KEY: secret('Services', 'its key'),
  MONITORING_BASE_URL: variable({
    group: 'Services',
    about: 'a monitoring service elsewhere',
    shown: 'the embedded one',
    schema: httpUrl().optional(),
  }),
  MONITORING_API_KEY: secret('Services', 'its key'),
  ASK_MODEL: variable({
    group: 'Asking',
    about: 'model of `/ask` when none is named',
    shown: 'the first text model of the catalog',
    schema: text(),
  }),
  ASK_SYSTEM_PROMPT: variable({
    group: 'Asking',
    about: 'what the model is told before every conversation',
    shown: '',
    schema: text(),
  }),
  ASK_STALL_SECONDS: variable({
    group: 'Asking',
    about: 'an answer with no new text for so long is ended with a note',
    shown: '60',
    schema: wholeNumber(1, 600, 60),
  }),
  ALERT_CHANNELS: variable({
    group: 'Alerts',
    about: 'channels that hear every alert: `slack:C0123,discord:4567`',
    shown: '',
    schema: places,
  }),
  ALERT_POLL_SECONDS: variable({
    group: 'Alerts',
    about: 'seconds between two looks at the monitors',
    shown: '15; 5 with the embedded service',
    schema: wholeNumber(1, 3600, 0),
  }),
  OPENAI_API_KEY: providerKey('OpenAI'),
  OPENAI_BASE_URL: variable({
    group: 'Models',
    about: 'another address that speaks the OpenAI API',
    shown: 'https://api.openai.com/v1',
    schema: httpUrl().optional(),
  }),
  ANTHROPIC_API_KEY: providerKey('Anthropic'),
  GEMINI_API_KEY: providerKey('Google Gemini'),
  MISTRAL_API_KEY: providerKey('Mistral'),
  GROQ_API_KEY: providerKey('Groq'),
  XAI_API_KEY: providerKey('xAI'),
  DEEPSEEK_API_KEY: providerKey('DeepSeek'),
  OPENROUTER_API_KEY: providerKey('OpenRouter'),
  OLLAMA_BASE_URL: variable({
    group: 'Models',
    about: 'a running Ollama; on its usual port it is found by itself',
    shown: 'http://127.0.0.1:11434',
    schema: httpUrl().optional(),
  }),
  ASKWATCH_CATALOG: variable({
    group: 'Models',
    about: 'a catalog file of your own',
    shown: 'the shipped one',
    schema: text(),
  }),
  MONITOR_ALLOW_PRIVATE: variable({
    group: 'Monitoring',
    about:
      'address ranges that checks may reach besides public addresses: `127.0.0.1/32,10.0.0.0/8`',
    shown: 'none',
    schema: cidrs,
  }),
  DATA_DIR: variable({
    group: 'Program',
    about: 'folder of the state',
    shown: './data',
    schema: z.string().default('./data'),
  }),
  DATABASE_URL: secret(
    'Program',
    'PostgreSQL instead of `DATA_DIR`; not in this version, which stops when it is set',
  ),
  ASKWATCH_ROLES: variable({
    group: 'Program',
    about: 'which parts run in this process',
    shown: ROLES.join(','),
    schema: roles,
  }),
  HOST: variable({
    group: 'Program',
    about:
      'address to listen on; beyond this machine the console stays off, as it has no login yet',
    shown: '127.0.0.1',
    schema: z.string().default('127.0.0.1'),
  }),
  PORT: variable({
    group: 'Program',
    about:
      'one listener for both services, console, `/healthz`, `/readyz`, `/metrics`; 0 takes a free one',
    shown: '3000',
    schema: wholeNumber(0, 65_535, 3000),
  }),
  LOG_LEVEL: variable({
    group: 'Program',
    about: 'trace, debug, info, warn, error or silent',
    shown: 'info',
    schema: z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
        error: 'must be trace, debug, info, warn, error or silent',
      })
      .default('info'),
  }),
};

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

/** Rules between variables. */
function conflicts(v: Values): string[] {
  const runs = (role: Role) => v.ASKWATCH_ROLES.includes(role);
  const rules: Array<[broken: boolean, problem: string]> = [
    [
      v.DATABASE_URL !== undefined,
      'DATABASE_URL: this version keeps its state in DATA_DIR only; unset it',
    ],
    [
      v.SLACK_BOT_TOKEN !== undefined && !v.SLACK_APP_TOKEN && !v.SLACK_SIGNING_SECRET,
      'SLACK_APP_TOKEN: set it too (Socket Mode), or SLACK_SIGNING_SECRET (HTTP)',
    ],
    [
      v.SLACK_BOT_TOKEN === undefined && Boolean(v.SLACK_APP_TOKEN || v.SLACK_SIGNING_SECRET),
      'SLACK_BOT_TOKEN: set it too; the app is installed under "OAuth & Permissions"',
    ],
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
      runs('console') && !runs('bot'),
      'ASKWATCH_ROLES: add bot, or leave console out; the console shows what the bot says',
    ],
  ];
  return rules.filter(([broken]) => broken).map(([, problem]) => problem);
}

function settingsFrom(v: Values, secrets: string[]) {
  const embeddedMonitoring = v.MONITORING_BASE_URL === undefined;
  return {
    slack: v.SLACK_BOT_TOKEN
      ? {
          botToken: v.SLACK_BOT_TOKEN,
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
        }
      : undefined,
    gateway: elsewhere(v.GATEWAY_BASE_URL, v.GATEWAY_API_KEY),
    monitoring: elsewhere(v.MONITORING_BASE_URL, v.MONITORING_API_KEY),
    bot: {
      askModel: v.ASK_MODEL,
      askSystemPrompt: v.ASK_SYSTEM_PROMPT,
      askStallMs: v.ASK_STALL_SECONDS * 1000,
      alertPlaces: v.ALERT_CHANNELS,
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
    dataDir: resolve(v.DATA_DIR),
    roles: new Set<Role>(v.ASKWATCH_ROLES),
    host: v.HOST,
    port: v.PORT,
    logLevel: v.LOG_LEVEL,
    /** Values that must never be written anywhere. */
    secrets,
  };
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

function secretsIn(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(variables).flatMap(([name, { secret }]) => {
    const value = env[name]?.trim();
    return secret && value ? [value] : [];
  });
}

/** Whether only this machine can reach a listener on `host`. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  return isIP(host) !== 0 && ipaddr.parse(host).range() === 'loopback';
}
