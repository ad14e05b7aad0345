import { createHash, randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection } from '../../bot/platform.ts';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import { HttpError } from '../../http/errors.ts';
import type { HttpReply, HttpRequest } from '../../http/server-types.ts';
import { cameOverHttps } from '../login/session-cookie.ts';
import { ConsolePerson } from '../shared/api-types.ts';
import type { EventStreams } from './event-streams.ts';

const KnownPerson = z.object({ ...ConsolePerson.shape, seenAtMs: z.number() });
export type KnownPerson = z.infer<typeof KnownPerson>;

/** People by key: the hash of their browser's cookie. */
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

/** Stored people, longest absent evicted first. */
const MAX_PEOPLE = 500;

/** Visitors in memory, oldest visit evicted first. */
const MAX_VISITORS = 200;

const MAX_NAME_CHARACTERS = 32;
const DAY_MS = 86_400_000;
const DEFAULT_NAME = /^Guest (\d{1,9})$/;

interface PeopleOptions {
  streams: Pick<EventStreams, 'send'>;
  log: Logger;
  nowMs?: () => number;
  maxPeople?: number;
}

/**
 * The console's people. Each browser is one, known by a cookie. A browser that opens the page is a visitor, in memory only; it
 * becomes a stored person, under the same name, when it first writes something. A cookie that isn't known here is accepted,
 * because cookies ignore ports: another Askwatch on this machine may have set it.
 */
export class People {
  private readonly collection: Collection<KnownPerson>;
  private readonly options: PeopleOptions;
  private readonly known = new Map<string, KnownPerson>();
  private readonly visitors = new Map<string, ConsolePerson>();

  private constructor(collection: Collection<KnownPerson>, options: PeopleOptions) {
    this.collection = collection;
    this.options = options;
  }

  static async open(collection: Collection<KnownPerson>, options: PeopleOptions) {
    const people = new People(collection, options);
    for (const { id, document } of await collection.list()) people.known.set(id, document);
    return people;
  }

  async of(request: HttpRequest, reply: HttpReply): Promise<ConsolePerson> {
    const key = keyOf(request, reply);
    return (await this.welcomeBack(key)) ?? (await this.storeNew(key));
  }

  async visit(request: HttpRequest, reply: HttpReply): Promise<ConsolePerson> {
    const key = keyOf(request, reply);
    const person = await this.welcomeBack(key);
    if (person) return person;
    const visitor = this.visitors.get(key) ?? { id: idFromKey(key), name: this.nextName() };
    this.visitors.delete(key);
    this.visitors.set(key, visitor);
    forgetOldest(this.visitors, MAX_VISITORS);
    return visitor;
  }

  /** A visitor keeps this id when they become a stored person. */
  idOf(request: HttpRequest, reply: HttpReply): string {
    const key = keyOf(request, reply);
    return this.known.get(key)?.id ?? idFromKey(key);
  }

  find(id: string): ConsolePerson | undefined {
    const all = [...this.known.values(), ...this.visitors.values()];
    const person = all.find((one) => one.id === id);
    return person && shownPerson(person);
  }

  /** Throws `HttpError` for a name that is taken or not allowed. */
  async rename({ id }: ConsolePerson, newName: string): Promise<ConsolePerson> {
    const name = cleanName(newName);
    const [key, current] = [...this.known].find(([, one]) => one.id === id) ?? [];
    if (key === undefined || !current) {
      throw refusal("Askwatch doesn't know this browser. Reload the page.");
    }
    const otherNames = [...this.known.values()].flatMap((one) => (one.id === id ? [] : [one.name]));
    if (['Askwatch', ...otherNames].some((one) => isSame(one, name))) {
      throw refusal(`“${name}” is already taken. Choose another name.`);
    }
    const renamed = { ...current, name };
    await this.store(key, renamed);
    return this.announce(renamed);
  }

  all(): ConsolePerson[] {
    return [...this.known.values()].map(shownPerson);
  }

  /** The stored person with this key. Notes once a day that they are still here. */
  private async welcomeBack(key: string): Promise<ConsolePerson | undefined> {
    const person = this.known.get(key);
    if (!person) return undefined;
    const seenAtMs = this.nowMs();
    if (seenAtMs - person.seenAtMs >= DAY_MS) await this.store(key, { ...person, seenAtMs });
    return shownPerson(person);
  }

  private async storeNew(key: string): Promise<ConsolePerson> {
    const known = this.known.get(key);
    if (known) return shownPerson(known);
    const visitor = this.visitors.get(key);
    this.visitors.delete(key);
    // Someone else may have taken the visitor's name in the meantime.
    const isFree =
      visitor && ![...this.known.values()].some((one) => isSame(one.name, visitor.name));
    const name = isFree ? visitor.name : this.nextName();
    const person = { id: idFromKey(key), name, seenAtMs: this.nowMs() };
    await this.store(key, person);
    return this.announce(person);
  }

  /** Changes memory before the store, so that two people who come at once get different names. */
  private async store(key: string, person: KnownPerson) {
    this.known.set(key, person);
    try {
      await this.collection.update(key, () => person);
      await this.removeLongestAway();
    } catch (error) {
      this.options.log.warn(
        { err: error },
        'could not store who uses the console; a restart forgets it',
      );
    }
  }

  private async removeLongestAway() {
    const { maxPeople = MAX_PEOPLE } = this.options;
    const byTime = [...this.known].sort(([, a], [, b]) => a.seenAtMs - b.seenAtMs);
    for (const [key] of byTime.slice(0, Math.max(0, this.known.size - maxPeople))) {
      this.known.delete(key);
      await this.collection.update(key, () => undefined);
    }
  }

  private announce(one: ConsolePerson): ConsolePerson {
    const person = shownPerson(one);
    this.options.streams.send({ kind: 'person', person });
    return person;
  }

  private nextName(): string {
    const all = [...this.known.values(), ...this.visitors.values()];
    const numbers = all.map(({ name }) => Number(DEFAULT_NAME.exec(name)?.[1] ?? 0));
    return `Guest ${Math.max(0, ...numbers) + 1}`;
  }

  private nowMs(): number {
    return (this.options.nowMs ?? Date.now)();
  }
}

/** The key of the browser's cookie; a browser without one gets a new cookie. */
function keyOf(request: HttpRequest, reply: HttpReply): string {
  const cookie = IN_COOKIES.exec(request.headers.cookie ?? '')?.[1];
  const token = cookie ?? randomBytes(32).toString('base64url');
  if (cookie === undefined) reply.header('set-cookie', cookieOf(token, request));
  return createHash('sha256').update(token).digest('base64url');
}

function cookieOf(token: string, request: HttpRequest): string {
  const cookie = `${COOKIE}=${token}; Path=/; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Strict`;
  return cameOverHttps(request) ? `${cookie}; Secure` : cookie;
}

/** Everyone sees the id, so it reveals neither the key nor the cookie. */
const idFromKey = (key: string) =>
  `u${createHash('sha256').update(`person ${key}`).digest('base64url').slice(0, 16)}`;

const shownPerson = ({ id, name }: ConsolePerson): ConsolePerson => ({ id, name });

const isSame = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();

/** Removes invisible characters, such as the ones that reverse the text after them. Throws `HttpError`. */
function cleanName(newName: string): string {
  const name = newName
    .normalize('NFC')
    .replace(/\s+/g, ' ')
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim();
  const { length } = [...name];
  if (length >= 1 && length <= MAX_NAME_CHARACTERS) return name;
  throw refusal(`Names have 1 to ${MAX_NAME_CHARACTERS} characters; this one has ${length}.`);
}

const refusal = (message: string) =>
  new HttpError(422, 'invalid_value', message, { param: 'name' });
