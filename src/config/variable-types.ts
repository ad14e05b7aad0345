import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { type Place, parsePlace } from '../bot/shared/place.ts';
import type { Who } from '../bot/shared/rights.ts';
import { isLoopback as isOnLoopback } from '../http/address.ts';
import { isProxyNetwork } from '../http/trusted-proxies.ts';
import { parseResolver } from '../monitoring/checks/dns-query.ts';

/** The parts of the program that can run by themselves, in the order they start. */
export const ROLES = ['gateway', 'monitoring', 'bot', 'console'] as const;
export type Role = (typeof ROLES)[number];

/** One environment variable: its purpose, default and validation. */
export interface Variable<T = unknown> {
  name: string;
  about: string;
  /** The default as a person reads it; empty when there is none. */
  shown: string;
  secret?: true;
  /** Secrets in a value that isn't one as a whole. */
  secretsIn?(value: string): string[];
  schema: z.ZodType<T, string | undefined>;
}

/** Variables by the names under which the program uses their values. */
export type VariableTable = Record<string, Variable>;

type ValueOf<V extends Variable> = z.output<V['schema']>;

export type ValuesOf<Variables extends VariableTable> = {
  [Key in keyof Variables as undefined extends ValueOf<Variables[Key]> ? never : Key]: ValueOf<
    Variables[Key]
  >;
} & {
  [Key in keyof Variables as undefined extends ValueOf<Variables[Key]> ? Key : never]?: Exclude<
    ValueOf<Variables[Key]>,
    undefined
  >;
};

/** Reads a table from the environment, in which an empty variable counts as not set; what is wrong is added to `problems`. */
export function readVariables<Variables extends VariableTable>(
  table: Variables,
  env: NodeJS.ProcessEnv,
  problems: string[],
): ValuesOf<Variables> {
  const values: Record<string, unknown> = {};
  for (const [key, { name, schema }] of Object.entries(table)) {
    const result = schema.safeParse(env[name]?.trim() || undefined);
    if (!result.success)
      problems.push(...result.error.issues.map((one) => `${name}: ${one.message}`));
    else if (result.data !== undefined) values[key] = result.data;
  }
  return values as ValuesOf<Variables>;
}

export const text = () => z.string().optional();

export function secret(name: string, about: string, schema = text()) {
  return { name, about, shown: '', secret: true as const, schema };
}

export function startingWith(prefix: string, where: string) {
  return z
    .string()
    .startsWith(prefix, `must start with ${prefix}; copy it from ${where}`)
    .optional();
}

export function httpUrl() {
  return z
    .url({ protocol: /^https?$/, error: 'must be a URL such as https://api.example.com' })
    .transform((url) => url.replace(/\/+$/, ''));
}

export function postgresUrl() {
  return z
    .string()
    .refine(
      (text) =>
        /^postgres(ql)?:\/\//.test(text) &&
        URL.canParse(text) &&
        new URL(text).pathname.length > 1 &&
        new URL(text).hostname !== '',
      'must be a URL such as postgres://user:password@db.example.com:5432/askwatch',
    )
    .optional();
}

const itemsIn = (list: string) =>
  list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

const commaList = () => z.string().transform(itemsIn);

export const httpUrls = commaList().pipe(
  z.array(httpUrl()).min(1, 'must contain at least one URL'),
);

export const publicUrl = z
  .string()
  .refine((text) => {
    if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
    const { username, password, search, hash } = new URL(text);
    return username + password + search + hash === '' && !/[?#\s]/.test(text);
  }, 'must be a URL such as https://askwatch.example.com or, with a path, https://example.com/askwatch')
  .transform((text) => new URL(text).href.replace(/\/+$/, ''))
  .optional();

export function wholeNumber(min: number, max: number) {
  return z
    .string()
    .regex(/^\d+$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`);
}

export const shards = z
  .string()
  .regex(/^(auto|[1-9]\d?|100)$/, 'must be auto, or a whole number from 1 to 100')
  .transform((value): 'auto' | number => (value === 'auto' ? value : Number(value)))
  .prefault('auto');

export const trueOrFalse = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true');

/** Platforms that a place may be of, with what one of each looks like. */
type KnownPlatforms = ReadonlyArray<{
  name: string;
  examples: { channel: string; person?: string };
  channelId?(text: string): string | undefined;
}>;

export const places = (platforms: KnownPlatforms) =>
  commaList()
    .transform((items, context): Place[] =>
      items.flatMap((item) => {
        const place = parsePlace(item);
        const platform = platforms.find(({ name }) => name === place?.platform);
        const isRead = platform?.channelId?.(place?.channel ?? '') !== undefined;
        if (place && platform && (isRead || !platform.channelId)) return [place];
        const looks = platforms.map(({ examples }) => examples.channel);
        const isCut = !place && items.some(isAddress);
        context.addIssue(
          isCut
            ? 'write a comma in an address as %2C, because commas separate channels'
            : `'${withoutPath(item)}' must look like ${listed(looks)}`,
        );
        return [];
      }),
    )
    .prefault('');

const isAddress = (item: string) => item.includes('://');

/** The rest of an address may be a secret. */
const withoutPath = (item: string) => item.replace(/:\/\/(?:[^/?#]*@)?([^/?#]*).*/, '://$1/…');

/** `a, b or c`. */
const listed = (words: readonly string[]) =>
  new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(words);

/** A word for many, or people and groups by their ids. */
export const who = (fallback: 'everyone' | 'managers', platforms: KnownPlatforms) =>
  z
    .string()
    .transform((given, context): Who => {
      if (given === 'everyone' || given === 'managers') return given;
      return itemsIn(given).flatMap((item) => {
        const one = parsePlace(item);
        const withPeople = platforms.filter(({ examples }) => examples.person !== undefined);
        if (one && withPeople.some(({ name }) => name === one.platform)) return [one];
        const ids = withPeople.flatMap(({ examples }) => examples.person ?? []);
        context.addIssue(`'${item}' must be everyone, managers, or an id such as ${listed(ids)}`);
        return [];
      });
    })
    .prefault(fallback);

export const cidrs = commaList()
  .refine(
    (items) => items.every((item) => ipaddr.isValidCIDR(item)),
    'must be address ranges such as 127.0.0.1/32,10.0.0.0/8,::1/128',
  )
  .prefault('');

/** Trusted proxies. A network of all addresses is refused, because any client could then claim any address. */
export const proxies = commaList()
  .transform((items, context) =>
    items.filter((item) => {
      if (isProxyNetwork(item)) return true;
      context.addIssue(
        `'${item}' must be a proxy's address or an address range, such as 127.0.0.1, 10.0.0.0/24 or fd00::/64; list only your own proxies, because Askwatch trusts what they forward`,
      );
      return false;
    }),
  )
  .prefault('');

export const anchors = commaList()
  .transform((items, context) =>
    items.flatMap((item) => {
      const anchor = parseResolver(item);
      if (anchor && !isOnLoopback(anchor.address)) return [anchor.text];
      context.addIssue(
        anchor
          ? `'${item}' is this machine, which answers even without a network; use an address outside it, such as the router's`
          : `'${item}' must be an address with or without a port, such as 192.168.0.1 or 9.9.9.9:443`,
      );
      return [];
    }),
  )
  .prefault('');

export const roles = commaList()
  .refine(
    (items): items is Role[] =>
      items.length > 0 && items.every((item) => (ROLES as readonly string[]).includes(item)),
    `must be one or more of ${ROLES.join(', ')}`,
  )
  .prefault(ROLES.join(','))
  .transform((items): ReadonlySet<Role> => new Set(items));
