import { createHash, randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection } from '../../bot/platform.ts';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import { HttpError } from '../../http/errors.ts';
import type { HttpReply, HttpRequest } from '../../http/server-types.ts';
import { cameOverHttps } from '../login/session-cookie.ts';
import { Someone } from '../shared/api-types.ts';
import type { EventStreams } from './event-streams.ts';

const KnownPerson = z.object({ ...Someone.shape, seenAtMs: z.number() });
export type KnownPerson = z.infer<typeof KnownPerson>;

/** Where the console keeps who was there, each by the hash of what their browser's cookie holds. */
export const peopleCollection = {
  name: 'console-people',
  schema: KnownPerson,
  version: 1,
  whenCorrupt: 'forget' as const,
};

const COOKIE = 'askwatch-person';
const IN_COOKIES = new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]{43})(?:;|$)`);

/** Browsers keep a cookie no longer than 400 days. Source: RFC 6265bis, "The Max-Age Attribute". */
const COOKIE_SECONDS = 400 * 86_400;

/** Those who were not here for longest are forgotten first. */
const MAX_PEOPLE = 500;
const MAX_NAME_CHARACTERS = 32;
const DAY_MS = 86_400_000;

const DEFAULT_NAME = /^Guest (\d{1,9})$/;

/** Visitors, who have written nothing yet, are remembered by name as long as there are no more than these. */
const MAX_VISITORS = 200;

/**
 * The people of the console: each browser is one, and is given a cookie when it has none. It may bring one that is not known
 * here: cookies know no ports, so another Askwatch on this machine may have given it.
 */
export type People = Awaited<ReturnType<typeof openPeople>>;

/** Reads who was here; every tab is told of everyone who is new or has another name. */
export async function openPeople(
  collection: Collection<KnownPerson>,
  options: {
    streams: Pick<EventStreams, 'send'>;
    log: Logger;
    nowMs?: () => number;
    maxPeople?: number;
  },
) {
  const { streams, log, nowMs = Date.now, maxPeople = MAX_PEOPLE } = options;
  const known = new Map<string, KnownPerson>();

  /** Visitors, by the same keys; the one whose visit is longest ago first. */
  const visitors = new Map<string, Someone>();

  /** `Guest` with the number after the highest that somebody has. */
  function nextName(): string {
    const all = [...known.values(), ...visitors.values()];
    const numbers = all.map(({ name }) => Number(DEFAULT_NAME.exec(name)?.[1] ?? 0));
    return `Guest ${Math.max(0, ...numbers) + 1}`;
  }

  /** Where who asks is kept; a browser without a cookie is given one. */
  function keyOf(request: HttpRequest, reply: HttpReply): string {
    const brought = IN_COOKIES.exec(request.headers.cookie ?? '')?.[1];
    const token = brought ?? randomBytes(32).toString('base64url');
    if (brought === undefined) reply.header('set-cookie', cookieOf(token, request));
    return createHash('sha256').update(token).digest('base64url');
  }

  for (const { id, document } of await collection.list()) known.set(id, document);

  /** Loads the person with this key, and stores that they were here. */
  async function returning(key: string): Promise<Someone | undefined> {
    const current = known.get(key);
    if (!current) return undefined;
    if (nowMs() - current.seenAtMs >= DAY_MS) await keep(key, { ...current, seenAtMs: nowMs() });
    return shownOf(current);
  }

  function announce(one: Someone): Someone {
    const person = shownOf(one);
    streams.send({ kind: 'person', person });
    return person;
  }

  async function store(key: string): Promise<Someone> {
    const there = known.get(key);
    if (there) return shownOf(there);
    const visitor = visitors.get(key);
    visitors.delete(key);
    // Somebody may have taken the name meanwhile.
    const isFree = visitor && ![...known.values()].some((one) => isSame(one.name, visitor.name));
    const name = isFree ? visitor.name : nextName();
    const person = { id: idFromKey(key), name, seenAtMs: nowMs() };
    await keep(key, person);
    return announce(person);
  }

  async function forgetLongestAway() {
    const byTime = [...known].sort(([, a], [, b]) => a.seenAtMs - b.seenAtMs);
    for (const [key] of byTime.slice(0, Math.max(0, known.size - maxPeople))) {
      known.delete(key);
      await collection.update(key, () => undefined);
    }
  }

  /** In memory first: whoever comes at the same moment is to be somebody else. */
  async function keep(key: string, person: KnownPerson): Promise<void> {
    known.set(key, person);
    try {
      await collection.update(key, () => person);
      await forgetLongestAway();
    } catch (error) {
      log.warn({ err: error }, 'could not store who uses the console; a restart forgets it');
    }
  }

  return {
    /** Who writes or does something; a new person is stored. */
    async of(request: HttpRequest, reply: HttpReply) {
      const key = keyOf(request, reply);
      return (await returning(key)) ?? (await store(key));
    },
    /** Who opens the page: has the name that will be theirs once they write something, and is stored only then. */
    async visit(request: HttpRequest, reply: HttpReply) {
      const key = keyOf(request, reply);
      const stored = await returning(key);
      if (stored) return stored;
      const visitor = visitors.get(key) ?? { id: idFromKey(key), name: nextName() };
      visitors.delete(key);
      visitors.set(key, visitor);
      forgetOldest(visitors, MAX_VISITORS);
      return visitor;
    },
    /** The id of who asks, the same whether they are stored or not. */
    idOf(request: HttpRequest, reply: HttpReply) {
      const key = keyOf(request, reply);
      return known.get(key)?.id ?? idFromKey(key);
    },
    /** Who has this id, also when they have written nothing yet. */
    find(id: string) {
      const all = [...known.values(), ...visitors.values()];
      const found = all.find((one) => one.id === id);
      return found && shownOf(found);
    },
    /** Gives somebody another name. Throws `HttpError` for one that cannot be. */
    async rename({ id }: Someone, given: string) {
      const name = cleanName(given);
      const [key, current] = [...known].find(([, one]) => one.id === id) ?? [];
      if (key === undefined || !current)
        throw refused("Askwatch doesn't know this browser. Reload the page.");
      const others = [...known.values()].filter((one) => one.id !== id);
      if (['Askwatch', ...others.map((one) => one.name)].some((one) => isSame(one, name))) {
        throw refused(`“${name}” is already taken. Choose another name.`);
      }
      const renamed = { ...current, name };
      await keep(key, renamed);
      return announce(renamed);
    },
    /** Those who are stored. */
    all: () => [...known.values()].map(shownOf),
  };
}

/** Whoever knows it knows neither the key nor what is in the cookie. */
const idFromKey = (key: string) =>
  `u${createHash('sha256').update(`person ${key}`).digest('base64url').slice(0, 16)}`;

const shownOf = ({ id, name }: Someone): Someone => ({ id, name });

const isSame = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();

function cookieOf(token: string, request: HttpRequest): string {
  const cookie = `${COOKIE}=${token}; Path=/; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Strict`;
  return cameOverHttps(request) ? `${cookie}; Secure` : cookie;
}

/** Without what nobody sees, or what turns the letters after it around. Throws `HttpError`. */
function cleanName(given: string): string {
  const name = given
    .normalize('NFC')
    .replace(/\s+/g, ' ')
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim();
  const { length } = [...name];
  if (length >= 1 && length <= MAX_NAME_CHARACTERS) return name;
  throw refused(`Names have 1 to ${MAX_NAME_CHARACTERS} characters; this one has ${length}.`);
}

const refused = (message: string) =>
  new HttpError(422, 'invalid_value', message, { param: 'name' });
