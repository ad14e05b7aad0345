import type { Place } from './place.ts';
import type { Who } from './rights.ts';

/** The operator's settings for the bot. */
export interface BotSettings {
  /** Default model of `/ask`; if undefined, the catalog's first text model. */
  askModel?: string;
  askSystemPrompt?: string;
  /** Address of the console's public pages, without a final slash. */
  pagesUrl?: string;
  /** An answer without new text for this long ends with a note. */
  askStallMs: number;
  /** Days for which rated answers are stored; 0 stores only ratings. */
  feedbackDays: number;
  /** Channels that receive every alert. */
  alertPlaces: Place[];
  alertPollMs: number;
  /** Address of the program for other systems, without a final slash. */
  hooksUrl?: string;
  /** Alertmanagers for silences, with credentials. Intakes without one use the first. */
  alertmanagerUrls?: readonly string[];
  mayAdd: Who;
  /** Includes the settings of channels. */
  mayManage: Who;
}
