import { z } from 'zod';
import { maskedTarget } from '../../contracts/secret-values.ts';
import type { Store } from '../../store/store.ts';
import { CommandError } from '../shared/errors.ts';
import { type GonePlaces, type Place, parsePlace, placeKey } from '../shared/place.ts';
import {
  ChannelSettings,
  changedSettings,
  type SettingsChange,
  settingsInSentences,
} from './channel-settings.ts';

/** What is needed of a monitor to decide who hears of it. */
const StoredRef = z.object({ id: z.string(), name: z.string(), target: z.string() });
export interface MonitorRef extends z.infer<typeof StoredRef> {
  /** Places that its file names: they hear of it whatever they asked for, in their one-word form. */
  channels?: readonly string[] | undefined;
}

/** Which alerts a channel hears. A filter is a text contained in a monitor's name or target, whatever the case. */
const Subscription = z.object({
  /** Monitors added in this channel. */
  added: z.array(StoredRef),
  all: z.boolean(),
  filters: z.array(z.string()),
  /** Filters of what is not heard although `all` or a filter says so. */
  except: z.array(z.string()),
  /** How it is told. They stay when it is to hear nothing: who may not set a mention must not be able to lose it. */
  settings: ChannelSettings.optional(),
});
type Subscription = z.infer<typeof Subscription>;

const NO_SUBSCRIPTION: Subscription = { added: [], all: false, filters: [], except: [] };

const MAX_ADDED = 2000;
const MAX_FILTERS = 50;

/** The alerts each channel hears. */
export type Channels = ReturnType<typeof createChannels>;

/** Subscriptions in the store, one document a channel. */
export function createChannels(store: Store) {
  const collection = store.collection<Subscription>({
    name: 'channels',
    schema: Subscription,
    version: 1,
    whenCorrupt: 'refuse',
  });
  return {
    /** Subscribes a channel to one monitor. Throws `CommandError` when it has too many. */
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
     * Changes what a channel hears (alerts on or off: those that match the filter, or all), how it is told, or both at once.
     * Throws `CommandError`, with nothing changed, when it has too many filters.
     */
    async change(
      place: Place,
      {
        hearing,
        settings,
      }: { hearing?: { on: boolean; filter?: string }; settings?: SettingsChange },
    ) {
      await collection.update(placeKey(place), (current = NO_SUBSCRIPTION) => {
        const heard = hearing ? turned(current, hearing.on, hearing.filter) : current;
        if (!settings) return heard;
        return { ...heard, settings: changedSettings(current.settings, settings) };
      });
    },
    /** Hides the secrets of targets that an older version stored, in the version of a document before too. */
    async hideSecrets() {
      const isPlain = ({ added }: Subscription) =>
        added.some(({ target }) => maskedTarget(target) !== target);
      for (const { id, document } of await collection.list()) {
        if (!isPlain(document)) continue;
        await collection.erase(id, (current) => {
          if (current === undefined || !isPlain(current)) return current;
          const added = current.added.map((one) => ({ ...one, target: maskedTarget(one.target) }));
          return { ...current, added };
        });
      }
    },
    /** Forgets channels; resolves to those that heard of anything, in their one-word form. */
    async forgetPlaces(gone: GonePlaces) {
      const heard = new Set<string>();
      await collection.eraseAll((place, hearing) => {
        if (!gone.has(place)) return false;
        if (isSubscribed(hearing)) heard.add(place);
        return true;
      });
      return [...heard];
    },
    /** The alerts and reports of a channel, in sentences; `always` if the settings of the program name it for every alert. */
    async describe(place: Place, { always = false } = {}) {
      const subscription = (await collection.get(placeKey(place))) ?? NO_SUBSCRIPTION;
      const { report, ...alerting } = subscription.settings ?? {};
      const how = settingsInSentences(alerting);
      const isOn = always || isSubscribed(subscription);
      return [
        always ? ALWAYS : inASentence(subscription),
        ...(isOn || how.length === 0 ? how : [`When alerts are on: ${how.join(' ')}`]),
        ...settingsInSentences(report ? { report } : {}),
      ].join(' ');
    },
    /** A function that tells whether a channel hears of a monitor, as subscribed now. */
    async hears(place: Place) {
      const key = placeKey(place);
      const hears = isSubscribedTo((await collection.get(key)) ?? NO_SUBSCRIPTION);
      return (monitor: MonitorRef) => monitor.channels?.includes(key) === true || hears(monitor);
    },
    /** Whether a channel hears of anything. */
    async isSubscribed(place: Place) {
      return isSubscribed((await collection.get(placeKey(place))) ?? NO_SUBSCRIPTION);
    },
    /** How a channel is told, by its one-word form. */
    async settingsOf(place: string) {
      return (await collection.get(place))?.settings ?? {};
    },
    /** A function that tells how channels are told, as set now. */
    async settings() {
      const all = new Map(
        (await collection.list()).map(({ id, document }) => [id, document.settings]),
      );
      return (place: string) => all.get(place) ?? {};
    },
    /** The channels that are told how their monitors did, and when. */
    async schedules() {
      return (await collection.list()).flatMap(({ id, document }) => {
        const place = parsePlace(id);
        const schedule = document.settings?.report;
        return place && schedule ? [{ place, schedule }] : [];
      });
    },
    /** The channels that hear of anything. */
    async places() {
      return (await collection.list()).flatMap(({ id, document }) => {
        const place = parsePlace(id);
        return place && isSubscribed(document) ? [place] : [];
      });
    },
    /** A function that tells which channels hear of a monitor, as subscribed now. */
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

/** The places that files name for monitors, each once. */
export function placesNamedBy(monitors: ReadonlyArray<Pick<MonitorRef, 'channels'>>): Place[] {
  const named = new Set(monitors.flatMap(({ channels }) => channels ?? []));
  return [...named].flatMap((name) => parsePlace(name) ?? []);
}

/** Whether a monitor's name or target contains the text, whatever the case. */
export function matches(monitor: MonitorRef, filter: string): boolean {
  const text = filter.toLowerCase();
  return monitor.name.toLowerCase().includes(text) || monitor.target.toLowerCase().includes(text);
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

function turned(current: Subscription, on: boolean, filter: string | undefined): Subscription {
  if (filter === undefined) {
    return on ? { ...current, all: true, except: [] } : { ...current, ...NO_SUBSCRIPTION };
  }
  const without = (filters: string[]) =>
    filters.filter((other) => other.toLowerCase() !== filter.toLowerCase());
  const except = without(current.except);
  const filters = without(current.filters);
  if (on) return { ...current, except, filters: bounded([...filters, filter]) };
  const added = current.added.filter((monitor) => !matches(monitor, filter));
  const wide = current.all || filters.length > 0;
  return { ...current, added, filters, except: wide ? bounded([...except, filter]) : except };
}

function bounded(filters: string[]): string[] {
  if (filters.length > MAX_FILTERS) {
    throw new CommandError(
      `This channel already has ${MAX_FILTERS} filters. To remove them all, use /monitor alerts off.`,
    );
  }
  return filters;
}

const ALWAYS = 'This channel gets every alert because it is listed in ALERT_CHANNELS.';

function inASentence({ added, all, filters, except }: Subscription): string {
  const quoted = (texts: string[]) => texts.map((text) => `“${text}”`).join(', ');
  const but = except.length > 0 ? `, except those with ${quoted(except)}` : '';
  const own =
    added.length > 0
      ? `the ${added.length === 1 ? 'monitor' : `${added.length} monitors`} added here`
      : '';
  if (all) return `This channel gets alerts for every monitor${but}.`;
  const some = filters.length > 0 ? `monitors with ${quoted(filters)} in name or target${but}` : '';
  const both = [own, some].filter((text) => text !== '').join(' and ');
  return both === '' ? 'This channel gets no alerts.' : `This channel gets alerts for ${both}.`;
}
