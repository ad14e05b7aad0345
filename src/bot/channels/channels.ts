import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { CommandError } from '../shared/errors.ts';
import { type GonePlaces, type Place, parsePlace, placeKey } from '../shared/place.ts';
import {
  ChannelSettings,
  changedSettings,
  type SettingsChange,
  settingsInSentences,
} from './channel-settings.ts';
import { filterInWords, MonitorFilter, matches } from './monitor-filter.ts';

/** The fields of a monitor that subscriptions look at. */
const StoredRef = z.object({ id: z.string(), name: z.string(), target: z.string() });
export interface MonitorRef extends z.infer<typeof StoredRef> {
  tags?: readonly string[];
  /** Place keys from the monitors file, which always get its alerts. */
  channels?: readonly string[];
}

/** Documents of version 1 hold only texts. */
const StoredFilter = z.union([MonitorFilter, z.string().transform((text) => ({ text }))]);

/** A webhook that a channel registered, in the document of its own place. */
const Webhook = z.object({
  /** The key of that channel. */
  from: z.string(),
  /** The encrypted address, and the part of it that people may see. */
  sealed: z.string(),
  shown: z.string(),
  /** The platform of the channel whose fallback it is. */
  insteadOf: z.string().optional(),
});
type Webhook = z.infer<typeof Webhook>;

/** Subscription of a channel. */
const Subscription = z.object({
  added: z.array(StoredRef),
  all: z.boolean(),
  filters: z.array(StoredFilter),
  /** Filters that exclude monitors. */
  except: z.array(StoredFilter),
  /** Kept when alerts are turned off. Otherwise anyone could remove a mention by turning alerts off. */
  settings: ChannelSettings.optional(),
  webhook: Webhook.optional(),
});
type Subscription = z.infer<typeof Subscription>;

const NO_SUBSCRIPTION: Subscription = { added: [], all: false, filters: [], except: [] };

const MAX_ADDED = 2000;
const MAX_FILTERS = 50;

export type Channels = ReturnType<typeof createChannels>;

export function createChannels(store: Store) {
  const collection = store.collection<Subscription>({
    name: 'channels',
    schema: Subscription,
    version: 2,
    whenCorrupt: 'refuse',
  });
  async function webhooksOf(from: string) {
    return (await collection.list()).flatMap(({ id, document }) => {
      const place = parsePlace(id);
      const { webhook } = document;
      return place && webhook?.from === from ? [{ ...webhook, key: id, place, document }] : [];
    });
  }

  return {
    /** Subscribes a channel to one monitor. Throws `CommandError` if it has too many. */
    async add(place: Place, monitor: MonitorRef) {
      await collection.update(placeKey(place), (current = NO_SUBSCRIPTION) => {
        const others = current.added.filter(({ id }) => id !== monitor.id);
        if (others.length >= MAX_ADDED) {
          throw new CommandError(
            `This channel already gets alerts for ${MAX_ADDED} individual monitors. To get alerts for all monitors, use /monitor alerts on.`,
          );
        }
        const { id, name, target } = monitor;
        return { ...current, added: [...others, { id, name, target }] };
      });
    },
    /**
     * Changes the subscription (on or off, for a filter or all), the settings, or both. Turning tags off needs the `monitors`
     * that have them. Throws `CommandError`, with nothing changed, if there are too many filters.
     */
    async change(place: Place, { hearing, settings, webhook }: ChannelChange) {
      await collection.update(placeKey(place), (current = NO_SUBSCRIPTION) => {
        const before = webhook ? { ...current, webhook } : current;
        const heard = hearing ? turned(before, hearing) : before;
        if (!settings) return heard;
        return { ...heard, settings: changedSettings(current.settings, settings) };
      });
    },
    /** By place key. */
    async webhookAt(place: string) {
      return (await collection.get(place))?.webhook;
    },
    /** The webhooks that a channel registered, by its place key. */
    webhooksOf,
    async removeWebhook(place: string) {
      await collection.erase(place, () => undefined);
    },
    /** Resolves to the place keys of removed channels that had alerts. */
    async forgetPlaces(gone: GonePlaces) {
      const heard = new Set<string>();
      await collection.eraseAll((place, hearing) => {
        if (!gone.has(place) && !gone.has(hearing.webhook?.from ?? '')) return false;
        if (isSubscribed(hearing)) heard.add(place);
        return true;
      });
      return [...heard];
    },
    /** Describes the alerts and reports of a channel. Use `always` for channels in ALERT_CHANNELS. */
    async describe(place: Place, { always = false } = {}) {
      const subscription = (await collection.get(placeKey(place))) ?? NO_SUBSCRIPTION;
      return inSentences(subscription, { always, webhooks: await webhooksOf(placeKey(place)) });
    },
    /** Resolves to a test of monitors, with the current subscription. */
    async subscriptionOf(place: Place) {
      const key = placeKey(place);
      const hears = isSubscribedTo((await collection.get(key)) ?? NO_SUBSCRIPTION);
      return (monitor: MonitorRef) => monitor.channels?.includes(key) === true || hears(monitor);
    },
    async isSubscribed(place: Place) {
      return isSubscribed((await collection.get(placeKey(place))) ?? NO_SUBSCRIPTION);
    },
    /** By place key. */
    async settingsOf(place: string) {
      return (await collection.get(place))?.settings ?? {};
    },
    /** Resolves to a function with the current settings of all channels. */
    async settings() {
      const all = new Map(
        (await collection.list()).map(({ id, document }) => [id, document.settings]),
      );
      return (place: string) => all.get(place) ?? {};
    },
    async schedules() {
      return (await collection.list()).flatMap(({ id, document }) => {
        const place = parsePlace(id);
        const schedule = document.settings?.report;
        return place && schedule ? [{ place, schedule }] : [];
      });
    },
    /** The channels whose outages are investigated, with the setting and their quiet hours. */
    async investigating() {
      return (await collection.list()).flatMap(({ id, document }) => {
        const place = parsePlace(id);
        const { investigate, quiet } = document.settings ?? {};
        return place && investigate ? [{ place, investigate, quiet }] : [];
      });
    },
    async places() {
      return (await collection.list()).flatMap(({ id, document }) => {
        const place = parsePlace(id);
        return place && isSubscribed(document) ? [place] : [];
      });
    },
    /** Resolves to a function that finds the channels of a monitor, with the current subscriptions. */
    async subscribers() {
      const hearings = (await collection.list()).flatMap(({ id, document }) => {
        const place = parsePlace(id);
        return place ? [{ place, hears: isSubscribedTo(document) }] : [];
      });
      return (monitor: MonitorRef) => [
        ...hearings.filter(({ hears }) => hears(monitor)).map(({ place }) => place),
        ...placesNamedBy([monitor]),
      ];
    },
  };
}

/** Channels that the monitors file names, each once. */
export function placesNamedBy(monitors: ReadonlyArray<Pick<MonitorRef, 'channels'>>): Place[] {
  const named = new Set(monitors.flatMap(({ channels }) => channels ?? []));
  return [...named].flatMap((name) => parsePlace(name) ?? []);
}

function isSubscribedTo({
  added,
  all,
  filters,
  except,
}: Subscription): (monitor: MonitorRef) => boolean {
  const ids = new Set(added.map(({ id }) => id));
  return (monitor) =>
    ids.has(monitor.id) ||
    ((all || filters.some((filter) => matches(monitor, filter))) &&
      !except.some((filter) => matches(monitor, filter)));
}

function isSubscribed({ added, all, filters }: Subscription): boolean {
  return all || added.length > 0 || filters.length > 0;
}

interface ChannelChange {
  hearing?: HearingChange;
  settings?: SettingsChange;
  webhook?: Webhook;
}

export interface HearingChange {
  on: boolean;
  filter?: MonitorFilter;
  monitors?: readonly MonitorRef[];
}

function turned(current: Subscription, { on, filter, monitors = [] }: HearingChange): Subscription {
  if (filter === undefined) {
    return on ? { ...current, all: true, except: [] } : { ...current, ...NO_SUBSCRIPTION };
  }
  const key = filterKey(filter);
  const without = (filters: MonitorFilter[]) => filters.filter((other) => filterKey(other) !== key);
  const except = without(current.except);
  const filters = without(current.filters);
  if (on) return { ...current, except, filters: bounded([...filters, filter]) };
  const listed = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  const added = current.added.filter((one) => !matches(listed.get(one.id) ?? one, filter));
  const wide = current.all || filters.length > 0;
  return { ...current, added, filters, except: wide ? bounded([...except, filter]) : except };
}

const filterKey = ({ text = '', tags = [] }: MonitorFilter) =>
  JSON.stringify([text.toLowerCase(), tags]);

function bounded(filters: MonitorFilter[]): MonitorFilter[] {
  if (filters.length > MAX_FILTERS) {
    throw new CommandError(
      `This channel already has ${MAX_FILTERS} filters. To remove them all, use /monitor alerts off.`,
    );
  }
  return filters;
}

function inSentences(
  subscription: Subscription,
  {
    always,
    webhooks,
  }: { always: boolean; webhooks: ReadonlyArray<Webhook & { document: Subscription }> },
): string {
  const { report, ...alerting } = subscription.settings ?? {};
  const how = settingsInSentences(alerting);
  const isOn = always || isSubscribed(subscription);
  return [
    always ? ALWAYS : inASentence(subscription),
    ...(isOn || how.length === 0 ? how : [`When alerts are on: ${how.join(' ')}`]),
    ...settingsInSentences(report ? { report } : {}),
    ...webhooks
      .filter(({ insteadOf }) => insteadOf === undefined)
      .map(({ document, shown }) => inASentence(document, `The webhook ${shown}`)),
  ].join(' ');
}

const ALWAYS = 'This channel gets every alert because it is listed in ALERT_CHANNELS.';

function inASentence({ added, all, filters, except }: Subscription, who = 'This channel'): string {
  const but = except.length > 0 ? `, except those${filtersInWords(except)}` : '';
  const own =
    added.length > 0
      ? `the ${added.length === 1 ? 'monitor' : `${added.length} monitors`} added here`
      : '';
  if (all) return `${who} gets alerts for every monitor${but}.`;
  const some = filters.length > 0 ? `monitors${filtersInWords(filters)}${but}` : '';
  const both = [own, some].filter((text) => text !== '').join(' and ');
  return both === '' ? `${who} gets no alerts.` : `${who} gets alerts for ${both}.`;
}

/** ` with “shop”, “cart” in name or target or tagged eu` */
function filtersInWords(filters: readonly MonitorFilter[]): string {
  const texts = filters.filter(({ tags }) => tags === undefined);
  const quoted = texts.map(({ text }) => `“${text}”`).join(', ');
  const tagged = filters.filter(({ tags }) => tags !== undefined).map(filterInWords);
  return [quoted && ` with ${quoted} in name or target`, ...tagged]
    .filter((words) => words !== '')
    .join(' or');
}
