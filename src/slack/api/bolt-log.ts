import { format } from 'node:util';
import { type Logger as BoltLogger, LogLevel } from '@slack/bolt';
import type { Logger } from 'pino';

/**
 * Secrets in Bolt's log lines: socket tickets, response addresses, verification tokens, states and codes of installations. The
 * program's log removes our own tokens.
 */
const SECRETS: [RegExp, string][] = [
  [/([?&](?:ticket|state)=)[^&\s"\\]+/g, '$1[secret]'],
  [
    /(\\?"(?:token|response_url|trigger_id|client_secret|code)\\?"\s*:\s*\\?")[^"\\]*/g,
    '$1[secret]',
  ],
  [/\b(?:xox[a-z]|xapp)-[\w-]+/g, '[secret]'],
];

/** Passes Bolt's log on. Its debug lines hold whole messages of people, so they become `trace`; each connection is `debug`. */
export function createBoltLog(log: Logger): BoltLogger {
  const write =
    (level: 'trace' | 'debug' | 'warn' | 'error') =>
    (...message: unknown[]) => {
      if (!log.isLevelEnabled(level)) return;
      const line = SECRETS.reduce(
        (text, [secret, by]) => text.replace(secret, by),
        format(...message),
      );
      log[level](line);
    };
  return {
    debug: write('trace'),
    info: write('debug'),
    warn: write('warn'),
    error: write('error'),
    // Our log decides, once for the whole program.
    setLevel() {},
    setName() {},
    getLevel: () => (log.isLevelEnabled('trace') ? LogLevel.DEBUG : LogLevel.INFO),
  };
}
