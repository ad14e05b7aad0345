import type { Logger } from 'pino';
import type { Bot } from '../../bot/platform.ts';
import type { ChannelApi } from '../api/channel-api.ts';
import type { Drafts } from '../api/drafts.ts';
import type { LacksIn } from '../api/permissions.ts';
import type { RightsOf } from '../api/rights.ts';
import type { Deletions } from './deletions.ts';
import type { InlineConversations } from './inline-conversations.ts';
import type { LineConversations } from './line-conversations.ts';

/** What handling of commands, buttons and messages shares. */
export interface Desk {
  bot: Bot;
  api: ChannelApi;
  inline: InlineConversations;
  conversations: LineConversations;
  drafts: Drafts;
  deletions: Deletions;
  lacksIn: LacksIn;
  rightsOf: RightsOf;
  /** Shortest time between two edits of an answer. */
  editIntervalMs: number;
  /** How long messages that belong to an interaction are changed and added to. */
  tokenLifeMs: number;
  /** The token of an interaction as it may be stored for an answer. */
  sealed: (token: string, answer: string) => string;
  log: Logger;
}
