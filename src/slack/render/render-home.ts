import type { types } from '@slack/bolt';
import type { Home, HomeChannel } from '../../bot/home/home.ts';
import type { Card } from '../../bot/shared/card.ts';
import type { Place } from '../../bot/shared/place.ts';
import { counted } from '../../bot/shared/text-format.ts';
import { channelElement, context, plainText, section } from './blocks.ts';
import { renderBody, renderHead } from './render-card.ts';

/** Source: Slack docs, "Home tab views"; "views.publish", error `view_too_large` above 250 KB. */
const MAX_BLOCKS = 100;
const MAX_BYTES = 150_000;

/** The result of an action in a home, and its channel. */
export interface HomeNotice {
  card: Card;
  channel?: string;
}

/** `channelOf` returns Slack's id of a channel. If not everything fits, a mark says so. */
export function renderHome(
  home: Home,
  { notice, channelOf }: { notice?: HomeNotice; channelOf(place: Place): string },
): types.HomeView {
  const { now, help, channels, more } = home;
  const groups: types.KnownBlock[][] = [
    ...(notice ? [renderNotice(notice)] : []),
    renderWhole(now),
    ...(help ? [renderWhole(help)] : []),
    ...(channels.length > 0
      ? [[{ type: 'header' as const, text: plainText('Your channels') }]]
      : []),
    ...channels.map((channel) => renderChannel(channel, channelOf(channel.place))),
    ...(more > 0
      ? [[context(`And ${counted(more, 'channel')} where you last spoke longer ago.`)]]
      : []),
  ];
  return { type: 'home', blocks: fitting(groups) };
}

const renderWhole = (card: Card): types.KnownBlock[] => [
  renderHead(card),
  ...renderBody(card, { heads: 1, tables: 0 }),
];

const renderNotice = ({ card, channel }: HomeNotice): types.KnownBlock[] => [
  ...(channel === undefined ? [] : [section([channelElement(channel)])]),
  ...renderWhole(card),
  { type: 'divider' },
];

const renderChannel = (shown: HomeChannel, channel: string): types.KnownBlock[] => [
  { type: 'divider' },
  section([channelElement(channel)]),
  ...renderBody(shown, { heads: 2, tables: 0 }),
];

/** Adds whole groups while they fit, with one block kept for the mark. */
function fitting(groups: types.KnownBlock[][]): types.KnownBlock[] {
  const blocks: types.KnownBlock[] = [];
  let bytes = 0;
  for (const group of groups) {
    bytes += Buffer.byteLength(JSON.stringify(group));
    if (blocks.length + group.length > MAX_BLOCKS - 1 || bytes > MAX_BYTES) {
      return [...blocks, context('…')];
    }
    blocks.push(...group);
  }
  return blocks;
}
