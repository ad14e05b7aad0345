import type { Bot } from '../../bot/platform.ts';
import type { AnswerContext } from '../answers/show-answer.ts';
import type { ChannelApi } from '../api/channel-api.ts';
import type { Interaction } from '../api/interaction.ts';
import type { RightsOf } from '../api/rights.ts';
import type { ChosenMessages, Drafts } from './remembered.ts';

/** Shared by the handlers of commands, buttons, forms and messages. */
export interface InteractionContext extends AnswerContext {
  bot: Bot;
  api: ChannelApi;
  drafts: Drafts;
  chosen: ChosenMessages;
  rightsOf: RightsOf;
  tokenLifeMs: number;
  /** Tokens of acknowledged interactions that could not be stored, so only this process can reply. */
  unstored: Set<string>;
}

export interface Handling<T extends Interaction = Interaction> extends InteractionContext {
  interaction: T;
}
