import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { InstallProviderOptions } from '@slack/bolt';
import { InstallError, STALE } from './install-error.ts';

type StateStore = NonNullable<InstallProviderOptions['stateStore']>;

/** How long somebody may take from our page to Slack's and back. */
export const STATE_LASTS_SECONDS = 10 * 60;

/** Used states that are remembered; more within ten minutes are no people. */
const MAX_USED = 10_000;

/**
 * States that only this process can make, each good for one installation. That a state belongs to the browser is Bolt's to
 * check, by a cookie. Bolt's own states can be used again (@slack/oauth 4.0.0, `ClearStateStore`).
 */
export function createInstallStates(): StateStore {
  const key = randomBytes(32);
  const used = new Set<string>();
  const signatureOf = (text: string) => createHmac('sha256', key).update(text).digest('base64url');

  return {
    async generateStateParam(_options, now) {
      const untilMs = now.getTime() + STATE_LASTS_SECONDS * 1000;
      const text = `${untilMs.toString(36)}.${randomBytes(18).toString('base64url')}`;
      return `${text}.${signatureOf(text)}`;
    },
    async verifyStateParam(now, state) {
      const [until = '', random = ''] = state.split('.');
      const text = `${until}.${random}`;
      const isOurs = isEqual(state, `${text}.${signatureOf(text)}`);
      const isLate = Number.parseInt(until, 36) < now.getTime();
      if (!isOurs || isLate || used.has(random)) throw new InstallError(STALE);
      used.add(random);
      if (used.size > MAX_USED) used.delete(used.values().next().value ?? '');
      // Of what a state could carry nothing is used: the redirect address is the app's own.
      return { scopes: [] };
    },
  };
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
