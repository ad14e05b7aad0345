import { expect, test } from 'vitest';
import { createLog, createRedaction } from '../../src/app/log.ts';

const SECRETS = {
  slackBot: 'xoxb-1234567890-abcdefghijkl',
  slackApp: 'xapp-1-A1-2-abcdefabcdef',
  discord: 'MTIzNDU2Nzg5MDEyMzQ1Njc4.GaBcDe.abcdefghijklmnopqrstuvwxyz0123456789AB',
  key: `awg_${'a1B2'.repeat(10)}`,
  provider: 'sk-proj-abcdefghijklmnop',
  odd: 'pa"ss\\word\nwith line',
};

function logged(
  secrets: string[],
  write: (log: ReturnType<typeof createLog>) => void,
  format: 'json' | 'pretty' = 'json',
): string {
  let lines = '';
  write(
    createLog({
      level: 'trace',
      ...{ secrets, format },
      write: (line) => {
        lines += line;
      },
    }),
  );
  return lines;
}

test.each(Object.entries(SECRETS))(
  'a %s never stands in a log line, wherever it was put',
  (_, secret) => {
    const lines = logged([secret], (log) => {
      log.info({ token: secret, deep: { list: [{ value: secret }] } }, 'as a field');
      log.info(`in the text: ${secret}!`);
      log.error({ err: new Error(`request to https://x/?token=${secret} failed`) }, 'in an error');
      log.info({ headers: { authorization: `Bearer ${secret}` } }, 'in a header');
    });
    expect(lines.split('\n')).toHaveLength(5);
    expect(lines).not.toContain(secret);
    expect(lines).not.toContain(JSON.stringify(secret).slice(1, -1));
    expect(lines).toContain('[secret]');
  },
);

test.each(Object.entries(SECRETS).filter(([name]) => name !== 'odd'))(
  'a %s that is in no setting is known by its look',
  (_, secret) => {
    expect(logged([], (log) => log.info({ url: `wss://x?ticket=${secret}` }, 'hm'))).not.toContain(
      secret,
    );
  },
);

test('the line stays JSON when a secret has quotes and line breaks', () => {
  const line = logged([SECRETS.odd], (log) => log.info({ value: `a ${SECRETS.odd} b` }, 'x'));
  expect(JSON.parse(line)).toMatchObject({ value: 'a [secret] b' });
});

test('a secret inside another is covered whole', () => {
  const redact = createRedaction(['abcdef', 'xxabcdefyy', 'short']);
  expect(redact('1 xxabcdefyy 2 abcdef 3')).toBe('1 [secret] 2 [secret] 3');
});

test('writes readable lines with fields, and an error with its stack', () => {
  const lines = logged(
    [],
    (log) => {
      log.warn({ status: 503, url: 'http://x.example/', text: 'two words' }, 'no list');
      log.error({ err: new TypeError('broken') }, 'a part failed');
    },
    'pretty',
  ).split('\n');
  expect(lines[0]).toMatch(
    /^\d\d:\d\d:\d\d WARN {2}no list status=503 url=http:\/\/x\.example\/ text="two words"$/,
  );
  expect(lines[1]).toMatch(/ ERROR a part failed$/);
  expect(lines[2]).toBe('    TypeError: broken');
  expect(lines[3]).toMatch(/^ {8}at .*log\.test\.ts/);
});

test.each(Object.entries(SECRETS))('hides a %s in a readable line', (_, secret) => {
  const lines = logged(
    [secret],
    (log) => {
      log.info({ token: secret, deep: [{ value: secret }] }, `in the text: ${secret}!`);
      log.error({ err: new Error(`request to https://x/?token=${secret} failed`) }, 'failed');
    },
    'pretty',
  );
  for (const part of secret.split('\n')) expect(lines).not.toContain(part);
  expect(lines).toContain('token=[secret]');
});

test('hides a secret that is a number in a readable line', () => {
  const lines = logged(['1234567'], (log) => log.info({ id: 1_234_567 }, 'x'), 'pretty');
  expect(lines).toContain('"id":[secret]');
  expect(lines).not.toContain('1234567');
});

test.each(['\u001b[2Jcleared', '\u001b]0;title\u0007', 'a\r\nb', 'evil\u202egnp.exe', '\u009b31m'])(
  'writes %j so that a terminal ignores it',
  (text) => {
    const err = Object.assign(new Error(text), { stack: `Error: ${text}\n    at x` });
    const lines = logged([], (log) => log.warn({ [text]: text, err }, text), 'pretty');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: These are what a terminal obeys.
    expect(lines.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  },
);
