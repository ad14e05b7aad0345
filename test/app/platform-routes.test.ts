import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../../src/app/settings.ts';
import { openPlatformLimits } from '../../src/bot/shared/platform-limits.ts';
import { openTestStore } from '../helpers/test-store.ts';

const log = pino({ level: 'silent' });

const SETUPS = [
  { SLACK_BOT_TOKEN: 'xoxb-1', SLACK_APP_TOKEN: 'xapp-1' },
  { SLACK_BOT_TOKEN: 'xoxb-1', SLACK_SIGNING_SECRET: 'secret' },
  { SLACK_CLIENT_ID: '1.2', SLACK_CLIENT_SECRET: 'secret', SLACK_SIGNING_SECRET: 'secret' },
  { SLACK_CLIENT_ID: '1.2', SLACK_CLIENT_SECRET: 'secret', SLACK_APP_TOKEN: 'xapp-1' },
  { DISCORD_TOKEN: 'token' },
];

test.each(SETUPS)(
  'the routes that are declared for %o are those that the platform has',
  async (env) => {
    const store = await openTestStore({ log });
    onTestFinished(() => store.close());
    for (const [platform, { routes = [], create }] of readSettings(env).platforms) {
      const limits = await openPlatformLimits({ platform, log });
      const made = await create({
        store,
        isHeld: () => false,
        limits,
        log,
        allowPrivate: [],
        onFatal() {},
      });
      const has = (made.routes ?? []).map(({ method, path }) => `${method} ${path}`);
      expect(has.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
      await made.stop();
    }
  },
);
