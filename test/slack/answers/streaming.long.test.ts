import { test } from 'vitest';
import { CHANNEL, type Fault } from '../../fakes/slack/slack.ts';
import {
  DIRECT,
  editsInstead,
  losesNothing,
  showsWhole,
} from '../../helpers/slack/streaming-runs.ts';

test.each([
  [DIRECT, 1],
  [DIRECT, 3_999],
  [DIRECT, 100_000],
  [CHANNEL, 1],
  [CHANNEL, 3_999],
  [CHANNEL, 100_000],
])('in %s an answer of %i characters is shown whole and in order', showsWhole);

const LOST: [string, string, Fault][] = [
  'chat.startStream',
  'chat.appendStream',
  'chat.stopStream',
].flatMap((method): [string, string, Fault][] => [
  [method, 'a 500 that was stored', { kind: 'status', status: 500, stored: true }],
  [method, 'a 500', { kind: 'status', status: 500 }],
  [method, 'a cut connection that was stored', { kind: 'drop', stored: true }],
  [method, 'a cut connection', { kind: 'drop' }],
  [method, 'msg_too_long', { kind: 'error', error: 'msg_too_long' }],
  [method, 'internal_error', { kind: 'error', error: 'internal_error' }],
  [method, 'a limit', { kind: 'limited', retryAfterSeconds: 1 }],
]);

test.each(LOST)('nothing is lost or doubled when %s meets %s', losesNothing);

test.each(['not_allowed', 'missing_scope', 'channel_type_not_supported'])(
  'where Slack refuses to stream with %s, answers are edited as in channels',
  editsInstead,
);
