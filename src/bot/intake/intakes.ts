import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { type DurationRange, inWords } from '../../contracts/duration.ts';
import { INTAKE_KINDS, type IntakeKind } from '../../contracts/intake-kinds.ts';
import { oneLine } from '../../contracts/one-line.ts';
import type { ChangedDocument, Collection, Following, Store } from '../../store/store.ts';
import { CommandError } from '../shared/errors.ts';
import { type GonePlaces, type Place, parsePlace, placeKey } from '../shared/place.ts';
import { shortened } from '../shared/text-format.ts';

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
  lastDeliveryAtMs: z.int().optional(),
  alertmanagerUrl: z.string().optional(),
  repeatMs: z.int().positive().optional(),
});
type StoredIntake = z.infer<typeof StoredIntake>;

/** The intakes of one channel, oldest first. One document, so that their number and names can be checked together. */
const StoredIntakes = z.object({ intakes: z.array(StoredIntake) });
type StoredIntakes = z.infer<typeof StoredIntakes>;

/** An address for alerts from another system to one channel. Never contains the token. */
export interface Intake {
  id: string;
  kind: IntakeKind;
  /** Unique in the channel, ignoring case. */
  name: string;
  place: Place;
  createdAtMs: number;
  /** Name of the person who added it. */
  by: string;
  /** Time of the last delivery, to a minute. */
  lastDeliveryAtMs?: number;
  /** Alertmanager for silences. */
  alertmanagerUrl?: string;
  /** Interval at which the sender repeats ongoing alerts, if unusual. */
  repeatMs?: number;
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** The length of a PagerDuty routing key, which some senders check. */
const TOKEN_LENGTH = 32;

/** The first characters of the token are the intake's id. The other 24 leave 142 bits secret. */
const ID_LENGTH = 8;

const TOKEN = new RegExp(`^[A-Za-z0-9]{${TOKEN_LENGTH}}$`);

/** Compared with tokens of unknown intakes. */
const NO_HASH = Buffer.alloc(64);

const MAX_INTAKES = 50;
const MAX_NAME_LENGTH = 80;
const MAX_URL_LENGTH = 500;

/** Allowed intervals at which a sender repeats an ongoing alert. */
export const REPEAT: DurationRange = { minMs: 60_000, maxMs: 24 * 3_600_000 };

/** The time of the last delivery is stored at most this often. */
const HEARD_EVERY_MS = 60_000;

/** A process that was frozen longer than this asks the store first, because the token may have been removed. */
const FRESH_MS = 1_500;

/** Opens the intakes. Call once per process. */
export async function createIntakes(
  store: Pick<Store, 'collection'>,
  source?: ConstructorParameters<typeof Intakes>[1],
): Promise<Intakes> {
  const intakes = new Intakes(store, source);
  await intakes.follow();
  return intakes;
}

/** Values of a new intake. */
export interface IntakeValues {
  kind: IntakeKind;
  /** Defaults to the title of its kind. */
  name?: string;
  by: string;
  alertmanagerUrl?: string;
  repeatMs?: number;
}

/**
 * The intakes of all channels. Tokens are stored as hashes. Look-ups use a copy in memory that follows the store, so changes
 * made in another process apply moments later.
 */
export class Intakes {
  readonly #collection: Collection<StoredIntakes>;
  readonly #byPlace = new Map<string, StoredIntakes>();
  readonly #byId = new Map<string, { intake: Intake; hash: Buffer }>();
  readonly #nowMs: () => number;
  readonly #randomText: (length: number) => string;
  #following: Following | undefined;

  constructor(
    store: Pick<Store, 'collection'>,
    { nowMs = Date.now, randomText = randomLettersAndDigits } = {},
  ) {
    this.#collection = store.collection<StoredIntakes>({
      name: 'intakes',
      schema: StoredIntakes,
      version: 1,
      whenCorrupt: 'refuse',
    });
    this.#nowMs = nowMs;
    this.#randomText = randomText;
  }

  async follow(): Promise<void> {
    this.#following = await this.#collection.follow((changed) => this.#apply(changed));
  }

  /**
   * Creates an intake. Its token is returned only here. Throws `CommandError` if the channel has too many, or one with this
   * name.
   */
  async add(place: Place, wanted: IntakeValues): Promise<{ intake: Intake; token: string }> {
    const { kind, alertmanagerUrl, repeatMs } = wanted;
    const token = this.#newToken();
    const values = {
      id: token.slice(0, ID_LENGTH),
      kind,
      hash: hashOf(token),
      createdAtMs: this.#nowMs(),
      by: inOneLine(wanted.by),
      alertmanagerUrl: alertmanagerUrl === undefined ? undefined : checkedUrl(alertmanagerUrl),
      repeatMs: repeatMs === undefined ? undefined : checkedRepeat(repeatMs),
    };
    let added: StoredIntake | undefined;
    await this.#collection.update(placeKey(place), (current = { intakes: [] }) => {
      const { intakes } = current;
      if (intakes.length >= MAX_INTAKES) {
        throw new CommandError(
          `This channel already has ${MAX_INTAKES} intakes. Remove an unused one: /monitor intake list shows them.`,
        );
      }
      const name =
        wanted.name === undefined
          ? freeName(INTAKE_TITLES[kind], intakes)
          : checkedName(wanted.name, intakes);
      added = { ...values, name };
      return { intakes: [...intakes, added] };
    });
    if (!added) throw new Error('The intake was not stored.');
    return { intake: shown(added, place), token };
  }

  /** Oldest first. */
  async list(place: Place): Promise<Intake[]> {
    await this.#following?.catchUp();
    const { intakes = [] } = this.#byPlace.get(placeKey(place)) ?? {};
    return intakes.map((stored) => shown(stored, place));
  }

  /** All intakes, as known in memory. */
  all(): Intake[] {
    return [...this.#byId.values()].map(({ intake }) => intake);
  }

  /** All intakes by id, including ones just added in another process. Rejects if that can't be known now. */
  async fresh(): Promise<ReadonlyMap<string, Intake>> {
    await this.#following?.catchUp();
    return new Map(this.all().map((intake) => [intake.id, intake]));
  }

  get(id: string): Intake | undefined {
    return this.#byId.get(id)?.intake;
  }

  /** Place keys of channels with intakes. */
  places(): string[] {
    return [...this.#byPlace.keys()];
  }

  /** Removes an intake by name or id. Its token becomes invalid. Resolves to `undefined` if there is none. */
  async remove(place: Place, nameOrId: string): Promise<Intake | undefined> {
    let removed: StoredIntake | undefined;
    await this.#collection.update(placeKey(place), (current) => {
      removed = current && found(current.intakes, nameOrId);
      if (!current || !removed) return current;
      const intakes = current.intakes.filter((one) => one !== removed);
      return intakes.length === 0 ? undefined : { intakes };
    });
    return removed && shown(removed, place);
  }

  /** Notes the time of a delivery. Stored at most once a minute. */
  async noteDelivery(id: string, atMs: number): Promise<void> {
    const isNews = ({ lastDeliveryAtMs }: Pick<StoredIntake, 'lastDeliveryAtMs'>) =>
      lastDeliveryAtMs === undefined || Math.abs(atMs - lastDeliveryAtMs) >= HEARD_EVERY_MS;
    const intake = this.get(id);
    if (!intake || !isNews(intake)) return;
    // Returning the same document stores nothing.
    await this.#collection.update(placeKey(intake.place), (current) => {
      const old = current?.intakes.find((one) => one.id === id);
      if (!current || !old || !isNews(old)) return current;
      const noted = { ...old, lastDeliveryAtMs: atMs };
      return { intakes: current.intakes.map((one) => (one === old ? noted : one)) };
    });
  }

  /**
   * Finds the intake of a token. `asks` allows a request to the store if the id isn't known. Rejects if that can't be known
   * now.
   */
  async byToken(token: string, { asks = true } = {}): Promise<Intake | undefined> {
    const isToken = TOKEN.test(token);
    const id = token.slice(0, ID_LENGTH);
    const isStale = this.#byId.has(id) ? (this.#following?.staleMs() ?? 0) > FRESH_MS : asks;
    if (isToken && isStale) await this.#following?.catchUp();
    const intake = isToken ? this.#byId.get(id) : undefined;
    // Always compares, so that the time doesn't reveal which ids exist.
    const isSame = timingSafeEqual(Buffer.from(hashOf(token)), intake?.hash ?? NO_HASH);
    return isSame ? intake?.intake : undefined;
  }

  async forgetPlaces(gone: GonePlaces): Promise<void> {
    await this.#collection.eraseAll((place) => gone.has(place));
  }

  #apply(changed: ReadonlyArray<ChangedDocument<StoredIntakes>>): void {
    for (const { id: key, document } of changed) {
      for (const { id } of this.#byPlace.get(key)?.intakes ?? []) this.#byId.delete(id);
      const place = parsePlace(key);
      if (!document || !place) {
        this.#byPlace.delete(key);
        continue;
      }
      this.#byPlace.set(key, document);
      for (const stored of document.intakes) {
        this.#byId.set(stored.id, { intake: shown(stored, place), hash: Buffer.from(stored.hash) });
      }
    }
  }

  #newToken(): string {
    let token: string;
    do token = this.#randomText(TOKEN_LENGTH);
    while (this.#byId.has(token.slice(0, ID_LENGTH)));
    return token;
  }
}

const shown = ({ hash: _, ...intake }: StoredIntake, place: Place): Intake =>
  ({ ...intake, place }) as Intake;

const found = (intakes: readonly StoredIntake[], nameOrId: string) =>
  intakes.find(({ id }) => id === nameOrId) ??
  intakes.find(({ name }) => isSameName(name, nameOrId));

const isSameName = (a: string, b: string) => a.toLowerCase() === b.trim().toLowerCase();

/** Cutting may leave half a character, which `oneLine` removes. */
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
