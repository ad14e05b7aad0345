import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { type DurationRange, inWords } from '../../contracts/duration.ts';
import { oneLine } from '../../contracts/one-line.ts';
import type { Store } from '../../store/store.ts';
import { CommandError } from '../shared/errors.ts';
import { type GonePlaces, type Place, parsePlace, placeKey } from '../shared/place.ts';
import { shortened } from '../shared/text-format.ts';
import { INTAKE_KINDS, type IntakeKind } from './reported-alert.ts';

/** How people call what sends. */
export const INTAKE_TITLES: Readonly<Record<IntakeKind, string>> = {
  alertmanager: 'Alertmanager',
  grafana: 'Grafana',
  pagerduty: 'PagerDuty events',
  'uptime-kuma': 'Uptime Kuma',
  generic: 'Alerts',
};

const StoredIntake = z.object({
  id: z.string(),
  kind: z.enum(INTAKE_KINDS),
  name: z.string(),
  /** SHA-256 of the whole token, hex. A random token of 190 bits needs no slow hash. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  createdAtMs: z.int(),
  by: z.string(),
  lastHeardAtMs: z.int().optional(),
  alertmanagerUrl: z.string().optional(),
  repeatMs: z.int().positive().optional(),
});
type StoredIntake = z.infer<typeof StoredIntake>;

/** Those of one place, oldest first: how many there are and that their names differ holds in every process. */
const StoredIntakes = z.object({ intakes: z.array(StoredIntake) });
type StoredIntakes = z.infer<typeof StoredIntakes>;

/** Where alerts of another system come in for a channel, as it may be shown: never the token itself. */
export interface Intake {
  id: string;
  kind: IntakeKind;
  /** Another one than that of every other intake of the place, whatever the case. */
  name: string;
  /** Who is told of what comes in. */
  place: Place;
  createdAtMs: number;
  /** Who made it, by name. */
  by: string;
  /** When something came in last, to a minute. */
  lastHeardAtMs?: number;
  /** Where silences are made for its alerts. */
  alertmanagerUrl?: string;
  /** How often the sender repeats an alert that goes on, where that is not the usual time. */
  repeatMs?: number;
}

/** What may be changed of an intake; `null` takes it away. */
export interface IntakeChange {
  name?: string;
  alertmanagerUrl?: string | null;
  repeatMs?: number | null;
}

/** The intakes of all places. */
export type Intakes = Awaited<ReturnType<typeof createIntakes>>;

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** As long as a routing key of PagerDuty, which some senders count. */
const TOKEN_LENGTH = 32;

/** Characters of the token that stand as the id of its intake; 8 of 32 leave 142 bits secret. */
const ID_LENGTH = 8;

const TOKEN = new RegExp(`^[A-Za-z0-9]{${TOKEN_LENGTH}}$`);

/** Characters of a SHA-256 in hex. */
const HASH_LENGTH = 64;

const MAX_INTAKES = 50;
const MAX_NAME_LENGTH = 80;
const MAX_URL_LENGTH = 500;

/** How often a sender repeats an ongoing alert. */
export const REPEAT: DurationRange = { minMs: 60_000, maxMs: 24 * 3_600_000 };

/** When something came in last is stored so often at most. */
const HEARD_EVERY_MS = 60_000;

/** Who has not known for so long asks first: a process that stood still must not take a token that was removed meanwhile. */
const FRESH_MS = 1_500;

/**
 * Opens the intakes, whose tokens are stored as hashes. For look-ups memory holds what the store says, so that an intake that
 * was made or removed in another process counts here moments later. Call once a process.
 */
export async function createIntakes(
  store: Store,
  { nowMs = Date.now, randomText = randomLettersAndDigits } = {},
) {
  const collection = store.collection<StoredIntakes>({
    name: 'intakes',
    schema: StoredIntakes,
    version: 1,
    whenCorrupt: 'refuse',
  });
  const byPlace = new Map<string, StoredIntakes>();
  const byId = new Map<string, { intake: Intake; hash: Buffer }>();
  const following = await collection.follow((changed) => {
    for (const { id: key, document } of changed) {
      for (const { id } of byPlace.get(key)?.intakes ?? []) byId.delete(id);
      const place = parsePlace(key);
      if (!document || !place) {
        byPlace.delete(key);
        continue;
      }
      byPlace.set(key, document);
      for (const stored of document.intakes) {
        byId.set(stored.id, { intake: shown(stored, place), hash: Buffer.from(stored.hash) });
      }
    }
  });
  const noHash = Buffer.alloc(HASH_LENGTH);

  const ofPlace = (place: Place) =>
    (byPlace.get(placeKey(place))?.intakes ?? []).map((stored) => shown(stored, place));

  function make() {
    let token: string;
    do token = randomText(TOKEN_LENGTH);
    while (byId.has(token.slice(0, ID_LENGTH)));
    return { token, id: token.slice(0, ID_LENGTH), hash: hashOf(token) };
  }

  /** Stores what `change` makes of an intake, which may be gone by then; the same object writes nothing. */
  async function changeStored(
    id: string,
    change: (stored: StoredIntake, all: StoredIntake[]) => StoredIntake,
  ) {
    const place = byId.get(id)?.intake.place;
    if (!place) return undefined;
    await collection.update(placeKey(place), (current) => {
      const old = current?.intakes.find((one) => one.id === id);
      const now = old && change(old, current?.intakes ?? []);
      if (!current || !now || now === old) return current;
      return { intakes: current.intakes.map((one) => (one === old ? now : one)) };
    });
    return byId.get(id)?.intake;
  }

  return {
    /**
     * Makes an intake of a place; the token is told this once. Without a name it is called like what sends. Throws
     * `CommandError` when the place has too many, or one with this name.
     */
    async add(
      place: Place,
      given: {
        kind: IntakeKind;
        name?: string | undefined;
        by: string;
        alertmanagerUrl?: string | undefined;
        repeatMs?: number | undefined;
      },
    ): Promise<{ intake: Intake; token: string }> {
      const { token, id, hash } = make();
      const createdAtMs = nowMs();
      const base = {
        ...{ id, kind: given.kind, hash, createdAtMs, by: inOneLine(given.by) },
        ...(given.alertmanagerUrl !== undefined && {
          alertmanagerUrl: checkedUrl(given.alertmanagerUrl),
        }),
        ...(given.repeatMs !== undefined && { repeatMs: checkedRepeat(given.repeatMs) }),
      };
      let added: StoredIntake | undefined;
      await collection.update(placeKey(place), (current = { intakes: [] }) => {
        const { intakes } = current;
        if (intakes.length >= MAX_INTAKES) {
          throw new CommandError(
            `This channel already has ${MAX_INTAKES} intakes. Remove an unused one: /monitor intake list shows them.`,
          );
        }
        const name =
          given.name === undefined
            ? freeName(INTAKE_TITLES[given.kind], intakes)
            : checkedName(given.name, intakes);
        added = { ...base, name };
        return { intakes: [...intakes, added] };
      });
      if (!added) throw new Error('The intake was not stored.');
      return { intake: shown(added, place), token };
    },
    /** The intakes of a place, oldest first. */
    async list(place: Place): Promise<Intake[]> {
      await following.catchUp();
      return ofPlace(place);
    },
    /** Those of all places, as this process knows them. */
    all: (): Intake[] => [...byId.values()].map(({ intake }) => intake),
    /** Those of all places, whichever process made them, by their ids. Rejects when that is not known now. */
    async fresh(): Promise<ReadonlyMap<string, Intake>> {
      await following.catchUp();
      return new Map([...byId].map(([id, { intake }]) => [id, intake]));
    },
    /** One of any place by its id, as this process knows it. */
    get: (id: string): Intake | undefined => byId.get(id)?.intake,
    /** The places that have any, in their one-word form. */
    places: () => [...byPlace.keys()],
    /** Removes one of a place by its name or id: its token counts no more. Resolves to it; `undefined` when there is none. */
    async remove(place: Place, nameOrId: string): Promise<Intake | undefined> {
      let removed: StoredIntake | undefined;
      await collection.update(placeKey(place), (current) => {
        removed = current && found(current.intakes, nameOrId);
        if (!current || !removed) return current;
        const intakes = current.intakes.filter((one) => one !== removed);
        return intakes.length === 0 ? undefined : { intakes };
      });
      return removed && shown(removed, place);
    },
    /** Changes an intake; resolves to it, `undefined` when it is gone. Throws `CommandError` for what cannot be. */
    async change(id: string, change: IntakeChange): Promise<Intake | undefined> {
      return await changeStored(id, (old, all) => changed(old, all, change));
    },
    /** Something came in at an intake. Stored once a minute at most. */
    async heard(id: string, atMs: number): Promise<void> {
      const isNews = ({ lastHeardAtMs }: Pick<StoredIntake, 'lastHeardAtMs'>) =>
        lastHeardAtMs === undefined || Math.abs(atMs - lastHeardAtMs) >= HEARD_EVERY_MS;
      const known = byId.get(id)?.intake;
      if (!known || !isNews(known)) return;
      await changeStored(id, (old) => (isNews(old) ? { ...old, lastHeardAtMs: atMs } : old));
    },
    /**
     * Whose token this is; `undefined` when it is nobody's. An id that this process does not know is asked for, unless it
     * is told not to be. Rejects when that is not known now.
     */
    async byToken(token: string, { asks = true } = {}): Promise<Intake | undefined> {
      const isToken = TOKEN.test(token);
      const id = token.slice(0, ID_LENGTH);
      const isNews = byId.has(id) ? following.staleMs() > FRESH_MS : asks;
      if (isToken && isNews) await following.catchUp();
      const known = isToken ? byId.get(id) : undefined;
      // Compared also when there is nothing to compare with, so that the time does not tell which ids exist.
      const isSame = timingSafeEqual(Buffer.from(hashOf(token)), known?.hash ?? noHash);
      return isSame ? known?.intake : undefined;
    },
    /** Forgets the intakes of places that are gone: their tokens count no more. */
    forgetPlaces: (gone: GonePlaces) => collection.eraseAll((place) => gone.has(place)),
  };
}

const shown = ({ hash: _, ...intake }: StoredIntake, place: Place): Intake =>
  ({ ...intake, place }) as Intake;

function changed(
  old: StoredIntake,
  all: readonly StoredIntake[],
  { name, alertmanagerUrl, repeatMs }: IntakeChange,
): StoredIntake {
  const now = { ...old };
  if (name !== undefined) {
    now.name = checkedName(
      name,
      all.filter((one) => one !== old),
    );
  }
  if (alertmanagerUrl === null) delete now.alertmanagerUrl;
  else if (alertmanagerUrl !== undefined) now.alertmanagerUrl = checkedUrl(alertmanagerUrl);
  if (repeatMs === null) delete now.repeatMs;
  else if (repeatMs !== undefined) now.repeatMs = checkedRepeat(repeatMs);
  return now;
}

const found = (intakes: readonly StoredIntake[], nameOrId: string) =>
  intakes.find(({ id }) => id === nameOrId) ??
  intakes.find(({ name }) => isSameName(name, nameOrId));

const isSameName = (a: string, b: string) => a.toLowerCase() === b.trim().toLowerCase();

/** Cut between the halves of a character, it would hold one that cannot be shown. */
const inOneLine = (text: string) => oneLine(shortened(oneLine(text), MAX_NAME_LENGTH));

function freeName(title: string, intakes: readonly StoredIntake[]): string {
  const isFree = (name: string) => !intakes.some((one) => isSameName(one.name, name));
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? title : `${title} ${count}`;
    if (isFree(name)) return name;
  }
}

function checkedName(given: string, intakes: readonly StoredIntake[]): string {
  const name = inOneLine(given);
  if (name === '')
    throw new CommandError('An intake needs a name, such as “Production”.', { input: 'name' });
  if (intakes.some((one) => isSameName(one.name, name))) {
    throw new CommandError(
      `This channel already has an intake called “${name}”. Choose another name.`,
      { input: 'name' },
    );
  }
  return name;
}

function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol) || text.length > MAX_URL_LENGTH) {
    throw new CommandError('An Alertmanager address looks like http://alertmanager.example:9093.');
  }
  return text;
}

function checkedRepeat(ms: number): number {
  if (Number.isInteger(ms) && ms >= REPEAT.minMs && ms <= REPEAT.maxMs) return ms;
  throw new CommandError(
    `“repeat” must be between ${inWords(REPEAT.minMs)} and ${inWords(REPEAT.maxMs)}, such as 4h.`,
  );
}

const hashOf = (token: string) => hash('sha256', token, 'hex');

function randomLettersAndDigits(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
