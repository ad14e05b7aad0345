import { LogLevel } from '@slack/bolt';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createBoltLog } from '../../../src/slack/api/bolt-log.ts';

/** Bolt's log at a level of ours, and the lines it wrote. */
function boltLogAt(level: string) {
  const lines: { level: number; msg: string }[] = [];
  const sink = { write: (line: string) => void lines.push(JSON.parse(line)) };
  return { boltLog: createBoltLog(pino({ level }, sink)), lines };
}

test('Bolt’s lines are written one level lower, with its warnings and errors as they are', () => {
  const { boltLog, lines } = boltLogAt('trace');
  boltLog.debug('a', { b: 1 });
  boltLog.info('c');
  boltLog.warn('d');
  boltLog.error('e');
  expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
    [10, 'a { b: 1 }'],
    [20, 'c'],
    [40, 'd'],
    [50, 'e'],
  ]);
});

test('what people say is not logged unless all is wanted', () => {
  const { boltLog, lines } = boltLogAt('debug');
  boltLog.debug('Received a message on the WebSocket: hello');
  expect(lines).toEqual([]);
  expect(boltLog.getLevel()).toBe(LogLevel.INFO);
});

test('nothing that grants something is written, even when all is wanted', () => {
  const { boltLog, lines } = boltLogAt('trace');
  const payload = {
    token: 'verification',
    response_url: 'https://hooks.slack.com/commands/T1/2/abc',
    trigger_id: '13345224609.738474920.8088930838d88f008e0',
    client_secret: 'client-secret',
    code: '987.654.code',
    text: 'fine',
  };
  boltLog.debug(`Received a message on the WebSocket: ${JSON.stringify(payload)}`);
  boltLog.debug(JSON.stringify({ body: JSON.stringify(payload) }));
  boltLog.debug('wss://wss.slack.com/link/?ticket=12348&app_id=5678');
  boltLog.debug('https://slack.com/oauth/v2/authorize?scope=commands&state=abc.def&client_id=5678');
  boltLog.error(new Error('xoxb-1234-abcd and xapp-1-A1-x'));
  const text = lines.map(({ msg }) => msg).join('\n');
  expect(text).not.toMatch(
    /verification|hooks\.slack|13345224609|12348|xoxb-|xapp-|client-secret|987|abc/,
  );
  expect(text.match(/fine/g)).toHaveLength(2);
  expect(text).toContain('app_id=5678');
  expect(text).toContain('client_id=5678');
});
