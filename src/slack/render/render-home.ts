import type { types } from '@slack/bolt';
import type { Home, HomeChannel } from '../../bot/home/home.ts';
import type { Card } from '../../bot/shared/card.ts';
import type { Place } from '../../bot/shared/place.ts';
import { counted } from '../../bot/shared/text-format.ts';
import { channelElement, context, plainText, section } from './blocks.ts';
import { renderBody, renderHead } from './render-card.ts';

/** Source: Slack docs, "Home tab views"; "views.publish", error `view_too_large` above 250 KB, of which this stays well below. */
const MAX_BLOCKS = 100;
const MAX_BYTES = 150_000;

/** What came of something done in a home, and the channel it is about. */
export interface HomeNotice {
  card: Card;
  channel?: string;
}

/** A home as Slack's Home tab; `channelOf` gives Slack's id of a channel. What does not fit is left out, and says so. */
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

/** As many whole groups as there is room for, one block kept for the mark that some are missing. */
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
