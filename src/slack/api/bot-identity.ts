export interface BotIdentity {
  userId: string;
  teamId: string;
  /** Shown in place of the bot's mention. */
  name: string;
}
