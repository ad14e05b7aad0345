import type { Logger } from 'pino';
import type { Bot } from '../../bot/platform.ts';
import type { ChannelApi } from '../api/channel-api.ts';
import type { Drafts } from '../api/drafts.ts';
import type { MissingPermissions } from '../api/permissions.ts';
import type { RightsOf } from '../api/rights.ts';
import type { Deletions } from './deletions.ts';
import type { InlineConversations } from './inline-conversations.ts';
import type { ThreadConversations } from './line-conversations.ts';

/** What handling of commands, buttons and messages shares. */
export interface InteractionContext {
  bot: Bot;
  api: ChannelApi;
  inline: InlineConversations;
  conversations: ThreadConversations;
  drafts: Drafts;
  deletions: Deletions;
  missingPermissions: MissingPermissions;
  rightsOf: RightsOf;
  /** Shortest time between two edits of an answer. */
  editIntervalMs: number;
  /** How long messages that belong to an interaction are changed and added to. */
  tokenLifeMs: number;
  /** The token of an interaction as it may be stored for an answer. */
  encryptToken: (token: string, answer: string) => string;
  log: Logger;
}
