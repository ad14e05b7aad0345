/** Who we are in the workspace. */
export interface BotIdentity {
  userId: string;
  /** The workspace. */
  teamId: string;
  /** The bot's name, as shown in place of its mention. */
  name: string;
}
