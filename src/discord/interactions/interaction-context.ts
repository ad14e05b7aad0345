import type { Bot } from '../../bot/platform.ts';
import type { AnswerContext } from '../answers/show-answer.ts';
import type { ChannelApi } from '../api/channel-api.ts';
import type { Interaction } from '../api/interaction.ts';
import type { RightsOf } from '../api/rights.ts';
import type { ChosenMessages } from './chosen-messages.ts';
import type { Drafts } from './drafts.ts';

/** What the handlers of commands, buttons, forms and messages share. */
export interface InteractionContext extends AnswerContext {
  bot: Bot;
  api: ChannelApi;
  drafts: Drafts;
  chosen: ChosenMessages;
  rightsOf: RightsOf;
  /** How long messages that belong to an interaction are changed and added to. */
  tokenLifeMs: number;
  /** Tokens of interactions that were acknowledged and could not be stored: only this process can tell their people. */
  unstored: Set<string>;
}

/** An interaction, and what it is handled with. */
export interface Handling<T extends Interaction = Interaction> extends InteractionContext {
  interaction: T;
}
