import type { Encryption } from '../../bot/platform.ts';
import type { Invocation } from '../../bot/shared/invocation.ts';
import type { UserInput } from './user-input.ts';

/** Slack's own are some 150 characters. */
const MAX_ADDRESS = 2_000;

/** What is stored with an invocation, so that another process can show what comes of it. */
export type Origins = ReturnType<typeof createOrigins>;

/** Response addresses let anybody speak as the bot, so they are encrypted. */
export function createOrigins(encryption: Encryption) {
  return {
    /** The input with all that is needed of it elsewhere. */
    noted(input: UserInput): UserInput {
      const { invocation, ts, inThread, pressed, responseUrl = '', isInHome } = input;
      const isStorable = responseUrl !== '' && responseUrl.length <= MAX_ADDRESS;
      const origin = {
        heardAtMs: String(Date.now()),
        ...(ts !== undefined && { ts }),
        ...(inThread && { inThread: 'yes' }),
        ...(pressed && { pressed: pressed.ts }),
        ...(isInHome && { isInHome: 'yes' }),
        ...(isStorable && { responseUrl: encryption.encrypt(responseUrl, invocation.id) }),
      };
      return { ...input, invocation: { ...invocation, origin } };
    },

    /** The input of an invocation that another process stored, in a channel by Slack's id. */
    inputOf(invocation: Invocation, channel: string): UserInput {
      const { ts, inThread, pressed, isInHome, responseUrl, heardAtMs } = invocation.origin ?? {};
      const url = responseUrl && encryption.decrypt(responseUrl, invocation.id);
      return {
        invocation,
        channel,
        addressed: true,
        inThread: inThread !== undefined,
        takenOver: { heardAtMs: Number(heardAtMs) || Date.now() },
        ...(ts !== undefined && { ts }),
        ...(pressed !== undefined && { pressed: { ts: pressed } }),
        ...(isInHome && { isInHome: true }),
        ...(url && { responseUrl: url }),
      };
    },
  };
}
