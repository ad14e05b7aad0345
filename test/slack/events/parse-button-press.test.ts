import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseButtonPress } from '../../../src/slack/events/parse-events.ts';

const ACTION = {
  type: 'button',
  action_id: 'askwatch-0',
  action_ts: '1763700000.000001',
  value: 'incident check?incident=i1',
};
const PRESS = {
  type: 'block_actions',
  user: { id: 'U1', username: 'ada', name: 'ada' },
  channel: { id: 'C1', name: 'general' },
  container: { type: 'message', message_ts: '100.000001', channel_id: 'C1', is_ephemeral: false },
  message: {
    type: 'message',
    ts: '100.000001',
    text: 'Shop is down',
    blocks: [{ type: 'divider' }, null, { type: 7 }],
  },
  response_url: 'https://hooks.example/1',
  actions: [ACTION],
};
const EPHEMERAL = {
  ...PRESS,
  message: undefined,
  container: { ...PRESS.container, is_ephemeral: true },
};

test('a press is the command of its button, said by whoever pressed', () => {
  expect(parseButtonPress(PRESS)).toEqual({
    invocation: {
      id: 'slack:C1:U1:1763700000.000001',
      request: { command: 'incident check', values: { incident: 'i1' } },
      place: { platform: 'slack', channel: 'C1' },
      thread: '100.000001',
      person: { id: 'U1', name: 'ada' },
      pressed: '100.000001',
    },
    channel: 'C1',
    addressed: true,
    inThread: false,
    pressed: { ts: '100.000001', text: 'Shop is down', blocks: [{ type: 'divider' }] },
    responseUrl: 'https://hooks.example/1',
  });
});

test('a press has an id of its own, whoever else presses and however often', () => {
  const presses = [
    PRESS,
    { ...PRESS, user: { id: 'U2' } },
    { ...PRESS, channel: { id: 'C2' } },
    { ...PRESS, actions: [{ ...ACTION, action_ts: '1763700000.000002' }] },
  ];
  const ids = presses.map((press) => parseButtonPress(press)?.invocation.id);
  expect(new Set(ids).size).toBe(presses.length);
  expect(ids).not.toContain(undefined);
});

describe('the thread of a press', () => {
  test.each([
    ['a message of the channel', PRESS, '100.000001', false],
    [
      'a message of the channel with replies',
      { ...PRESS, message: { ts: '100.000001', thread_ts: '100.000001' } },
      '100.000001',
      false,
    ],
    [
      'a reply',
      { ...PRESS, message: { ts: '100.000001', thread_ts: '99.000001' } },
      '99.000001',
      true,
    ],
    [
      'a reply that one person sees',
      { ...EPHEMERAL, container: { ...EPHEMERAL.container, thread_ts: '99.000001' } },
      '99.000001',
      true,
    ],
    ['what one person sees in the channel', EPHEMERAL, undefined, false],
  ])('under %s', (_where, press, thread, inThread) => {
    const input = parseButtonPress(press);
    expect(input?.invocation.thread).toBe(thread);
    expect(input?.inThread).toBe(inThread);
    expect(input?.responseUrl).toBe(PRESS.response_url);
  });
});

test('a person without a name is called by the id', () => {
  const nameOf = (user: unknown) => parseButtonPress({ ...PRESS, user })?.invocation.person.name;
  expect(nameOf({ id: 'U1', username: 'ada' })).toBe('ada');
  expect(nameOf({ id: 'U1', name: '', username: { x: 1 } })).toBe('U1');
});

test.each([
  ['no button', { actions: [{ ...ACTION, type: 'static_select' }] }],
  ['no action', { actions: [] }],
  ['actions that are no list', { actions: { 0: ACTION } }],
  ['a value that is no command', { actions: [{ ...ACTION, value: 'hello' }] }],
  ['a value that is no text', { actions: [{ ...ACTION, value: [ACTION.value] }] }],
  ['no time', { actions: [{ ...ACTION, action_ts: 'now' }] }],
  ['nobody', { user: { name: 'ada' } }],
  ['no channel', { channel: null, container: {} }],
  ['a form', { type: 'view_submission' }],
])('a press with %s is not heard', (_what, change) => {
  expect(parseButtonPress({ ...PRESS, ...change })).toBeUndefined();
});

test('a payload of any shape is read without an error', () => {
  const any = fc.anything({ withNullPrototype: true });
  fc.assert(fc.property(any, (payload) => parseButtonPress(payload) === undefined));
  const mangled = fc.record(
    { user: any, channel: any, container: any, message: any, response_url: any },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(mangled, (change) => {
      const input = parseButtonPress({ ...PRESS, ...change });
      if (!input) return;
      const { place, person, thread } = input.invocation;
      expect([place.channel, person.id, person.name].map((text) => typeof text)).toEqual(
        Array(3).fill('string'),
      );
      expect(thread ?? '1.1').toMatch(/^\d+\.\d+$/);
    }),
  );
});
