import { type Logger, pino } from 'pino';
import { KEY_PATTERN } from '../contracts/api-key.ts';
import { prettyLine } from './pretty-log.ts';

const REDACTED = '[secret]';

/**
 * Tokens by their look, wherever they stand: Slack's, Discord's, bearer headers and providers' keys.
 * A path list as in pino's `redact` misses secrets inside messages, URLs and errors, so the finished line is cleaned.
 */
const PATTERNS = [
  KEY_PATTERN,
  /\bxox[a-z]-[\w-]{8,}/g,
  /\bxapp-[\w-]{8,}/g,
  /\b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}/g,
  /\bBearer +[^\s"\\]+/gi,
  /\bsk-[\w-]{16,}/g,
  // Tokens of intakes in paths.
  /(?<=\/hooks\/[\w-]{1,40}\/)[\w%-]+/g,
];

/** Replaces every known secret, and everything that looks like one, in a text. */
export function createRedaction(secrets: readonly string[]): (text: string) => string {
  // Log lines are JSON, so secrets are searched as JSON writes them, the longest first in case one contains another.
  const known = [
    ...new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)])),
  ]
    .filter((secret) => secret.length >= 6)
    .sort((a, b) => b.length - a.length);
  return (text) => {
    const withoutKnown = known.reduce((line, secret) => line.replaceAll(secret, REDACTED), text);
    return PATTERNS.reduce((line, pattern) => line.replace(pattern, REDACTED), withoutKnown);
  };
}

/** The program's log, to `write` (standard error), with no secret in any line. `auto` is `pretty` on a terminal, else `json`. */
export function createLog(options: {
  level: string;
  secrets: readonly string[];
  format?: 'auto' | 'pretty' | 'json';
  write?: (line: string) => void;
}): Logger {
  const { format = 'json' } = options;
  const redact = createRedaction(options.secrets);
  const isPretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  // Again at the end, because a text without JSON's escapes may look like a token.
  const finish = (line: string) => (isPretty ? redact(prettyLine(redact(line))) : redact(line));
  const write = options.write ?? ((line: string) => void process.stderr.write(line));
  return pino(
    { level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => write(finish(line)) },
  );
}
