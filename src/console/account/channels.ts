import { type Place, parsePlace } from '../../bot/shared/place.ts';
import type { UsageEntry, UsageLog } from '../../bot/usage/usage-log.ts';
import type { AskedChannel, ChannelsAnswer } from './api-types.ts';

const MAX_CHANNELS = 200;
const MAX_PEOPLE = 50;
const MAX_MODELS = 20;
/** Platforms and gateways may send longer names and ids. */
const MAX_NAME = 200;

/** Names of platforms and channels. */
export interface PlaceNames {
  alertedPlaces(): Promise<Place[]>;
  /** The platform's name as people write it. */
  platformTitle(name: string): string;
  /** The channel's name on its platform, if it is known. */
  channelName(place: Place): string | undefined;
}

type Sum = ChannelsAnswer['total'];

interface ChannelSum extends Sum {
  lastAtMs: number;
  people: Map<string, Sum & { name: string }>;
  models: Map<string, Sum>;
}

const nothing = (): Sum => ({
  answers: 0,
  tokens: 0,
  uncounted: 0,
  lookups: 0,
  lookupTokens: 0,
});

/** Sums the use of `/ask` since a time by channel, reading one answer at a time. */
export async function askedByChannel(
  bot: Titles & { usageLog: Pick<UsageLog, 'everywhere'> },
  fromMs: number,
): Promise<ChannelsAnswer> {
  const channels = new Map<string, ChannelSum>();
  const total = nothing();
  for await (const answer of bot.usageLog.everywhere(fromMs)) {
    const { place, person, name, model, atMs } = answer;
    const channel = entry(channels, place, () => ({
      ...nothing(),
      lastAtMs: atMs,
      people: new Map(),
      models: new Map(),
    }));
    const who = entry(channel.people, person, () => ({ ...nothing(), name }));
    for (const sum of [total, channel, who, entry(channel.models, model, nothing)])
      add(sum, answer);
    // The latest name counts.
    who.name = name;
    channel.lastAtMs = Math.max(channel.lastAtMs, atMs);
  }
  const [shown, moreChannels] = most(channels, MAX_CHANNELS);
  return {
    channels: shown.map(([place, sum]) => listed(place, sum, bot)),
    moreChannels,
    total,
  };
}

type Titles = Pick<PlaceNames, 'channelName' | 'platformTitle'>;

function listed(place: string, sum: ChannelSum, bot: Titles): AskedChannel {
  const { platform, channel } = parsePlace(place) ?? { platform: '', channel: place };
  const name = platform === '' ? undefined : bot.channelName({ platform, channel });
  const { people: byPerson, models: byModel, ...sums } = sum;
  const [people, morePeople] = most(byPerson, MAX_PEOPLE);
  const [models, moreModels] = most(byModel, MAX_MODELS);
  return {
    platform,
    platformTitle: bot.platformTitle(platform),
    channel,
    ...sums,
    morePeople,
    moreModels,
    name: name?.slice(0, MAX_NAME),
    people: people.map(([id, { name: who, ...own }]) => ({
      ...own,
      id: id.slice(0, MAX_NAME),
      name: who.slice(0, MAX_NAME),
    })),
    models: models.map(([model, own]) => ({ ...own, model: model.slice(0, MAX_NAME) })),
  };
}

function add(
  sum: Sum,
  {
    tokens,
    lookups = 0,
    lookupTokens = 0,
  }: Pick<UsageEntry, 'tokens' | 'lookups' | 'lookupTokens'>,
): void {
  sum.answers += 1;
  sum.lookups += lookups;
  sum.lookupTokens += lookupTokens;
  if (tokens === undefined) sum.uncounted += 1;
  else sum.tokens += tokens;
}

function entry<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** Returns the entries with most tokens, most first, and the number of the others. */
function most<T extends Sum>(sums: Map<string, T>, max: number): [Array<[string, T]>, number] {
  const all = [...sums].sort(([, a], [, b]) => b.tokens - a.tokens || b.answers - a.answers);
  return [all.slice(0, max), Math.max(0, all.length - max)];
}
