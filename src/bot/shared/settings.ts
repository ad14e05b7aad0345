import type { Place } from './place.ts';
import type { Who } from './rights.ts';

/** What the bot may be told by the operator. */
export interface BotSettings {
  /** Model of `/ask` when none is named; the catalog's first text model when undefined. */
  askModel?: string;
  askSystemPrompt?: string;
  /** The address of the console's pages for everybody, without a slash at its end; none where there is no such. */
  pagesUrl?: string;
  /** An answer with no new text for so long is ended with a note. */
  askStallMs: number;
  /** How long rated answers are kept; 0 keeps ratings without their answers. */
  feedbackDays: number;
  /** Channels that hear every alert. */
  alertPlaces: Place[];
  alertPollMs: number;
  /** Where other systems reach the program, without a slash at its end. */
  hooksUrl?: string;
  /** Alertmanagers where a snooze may make a silence, with their credentials; the first is that of intakes that name none. */
  alertmanagerUrls?: readonly string[];
  /** Who may add monitors. */
  mayAdd: Who;
  /** Who may pause and remove monitors, and change how a channel is told and answered. */
  mayManage: Who;
}
