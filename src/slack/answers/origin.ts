import type { Encryption } from '../../bot/platform.ts';
import type { Interrupted } from '../../bot/shared/invocation.ts';
import type { UserInput } from './user-input.ts';

/** Slack's addresses have about 150 characters. */
const MAX_ADDRESS = 2_000;

/** The place of an invocation, stored until the invocation is done. */
export type Origin = Pick<UserInput, 'ts' | 'inThread' | 'responseUrl'>;

export type Origins = ReturnType<typeof createOrigins>;

/** Response addresses let anyone post as the bot, so they are stored encrypted. */
export function createOrigins(encryption: Encryption) {
  return {
    noted(input: UserInput): UserInput {
      const { invocation, ts, inThread, responseUrl = '' } = input;
      const isStorable = responseUrl !== '' && responseUrl.length <= MAX_ADDRESS;
      const origin = {
        ...(ts !== undefined && { ts }),
        ...(inThread && { inThread: 'yes' }),
        ...(isStorable && { responseUrl: encryption.encrypt(responseUrl, invocation.id) }),
      };
      return { ...input, invocation: { ...invocation, origin } };
    },

    of({ invocation, origin = {} }: Interrupted): Origin {
      const { ts, inThread, responseUrl } = origin;
      const url = responseUrl && encryption.decrypt(responseUrl, invocation);
      return {
        inThread: inThread !== undefined,
        ...(ts !== undefined && { ts }),
        ...(url && { responseUrl: url }),
      };
    },
  };
}
