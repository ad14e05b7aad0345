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

function logged(secrets: string[], write: (log: ReturnType<typeof createLog>) => void): string {
  let lines = '';
  write(
    createLog({
      level: 'trace',
      secrets,
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
