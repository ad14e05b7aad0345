import type { Client, Guild } from 'discord.js';

/** The servers that the bot is in. What they reject Discord has not told. */
export interface Guilds {
  /** All of them, by their ids. */
  ids(): Promise<string[]>;
  /** With its channels and roles as they are now, or were some seconds ago; `undefined` for one that is not known. */
  get(id: string): Promise<Guild | undefined>;
}

/** Those that Discord has told a client of that hears of all. */
export const announcedGuilds = (client: Client): Guilds => ({
  ids: async () => [...client.guilds.cache.filter(({ available }) => available).keys()],
  get: async (id) => client.guilds.cache.get(id),
});
