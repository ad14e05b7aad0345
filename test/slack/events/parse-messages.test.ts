import { describe, expect, test } from 'vitest';
import {
  type MessageEvent,
  parseCommand,
  parseMessage,
} from '../../../src/slack/events/parse-events.ts';

const SELF = { userId: 'UBOT', teamId: 'T00FAKE', name: 'askwatch' };
const COMMANDS = new Set(['ask', 'monitor', 'askwatch']);
const EVENT: MessageEvent = {
  type: 'message',
  channel: 'C1',
  channel_type: 'channel',
  ts: '100.000001',
  user: 'U1',
  text: 'hello',
};
const hear = (event: Partial<MessageEvent>) => parseMessage({ ...EVENT, ...event }, SELF, COMMANDS);

describe('a message', () => {
  test('a message and the mention in it are one input', () => {
    const text = '<@UBOT> why?';
    const message = hear({ text });
    expect(hear({ text, type: 'app_mention', channel_type: undefined })).toEqual(message);
    expect(message?.invocation).toEqual({
      id: 'slack:C1:100.000001',
      request: { command: 'ask', values: { question: 'why?' } },
      place: { platform: 'slack', channel: 'C1' },
      thread: '100.000001',
      person: { id: 'U1', name: 'U1' },
    });
    expect(message).toMatchObject({ addressed: true, inThread: false, ts: '100.000001' });
  });

  test('belongs to the thread it was said in', () => {
    const input = hear({ thread_ts: '99.000001' });
    expect(input).toMatchObject({ addressed: false, inThread: true });
    expect(input?.invocation.thread).toBe('99.000001');
  });

  test('every message in a direct conversation is for the bot', () => {
    expect(hear({ channel: 'D1', channel_type: 'im' })).toMatchObject({ addressed: true });
  });

  test.each([
    ['an edit', { subtype: 'message_changed' }],
    ['a deletion', { subtype: 'message_deleted' }],
    ['a join', { subtype: 'channel_join' }],
    ['a post of a bot', { subtype: 'bot_message' }],
    ['a post of an app', { bot_id: 'B1' }],
    ['a post of ours', { user: 'UBOT' }],
    ['a post of Slackbot', { user: 'USLACKBOT' }],
    ['an edited mention', { text: '<@UBOT> x', edited: { user: 'U1', ts: '1' } }],
    ['nobody’s post', { user: undefined }],
    ['a picture without a word', { subtype: 'file_share', text: '' }],
  ])('that is %s is not heard', (_what, event) => {
    expect(hear(event)).toBeUndefined();
  });

  test.each(['file_share', 'thread_broadcast'])('of subtype %s is heard', (subtype) => {
    expect(hear({ subtype })).toBeDefined();
  });

  test.each([
    ['<@UBOT> why?', 'why?'],
    ['<@UBOT|askwatch>: why?', 'why?'],
    ['why? <@UBOT>', 'why?'],
    ['tell <@UBOT> why', 'tell @askwatch why'],
    ['<@UBOT> is a &lt; b at <https://a.example|here>?', 'is a < b at https://a.example?'],
    ['<@UBOT> model=x what is that', 'model=x what is that'],
    ['<@UBOT> monitor list', 'monitor list'],
    ['<@UBOT> /unknown thing', '/unknown thing'],
    ['<@UBOT> why /monitor list', 'why /monitor list'],
  ])('%j is the question %j', (text, question) => {
    expect(hear({ text })?.invocation.request).toEqual({ command: 'ask', values: { question } });
  });

  test.each([
    ['<@UBOT> /monitor list', '/monitor list'],
    ['<@UBOT> /ASK private=true x', '/ASK private=true x'],
    ['<@UBOT> /monitor add <https://a.example> Shop', '/monitor add https://a.example Shop'],
    ['<@UBOT>', '/askwatch help'],
  ])('%j is the command %j', (text, line) => {
    expect(hear({ text })?.invocation.request).toEqual({ line });
  });
});

test.each([
  ['add <http://shop.example|shop.example> Shop of <@U2|ada>', 'add shop.example Shop of @ada'],
  ['add <https://shop.example/?a=1&amp;b=2>', 'add https://shop.example/?a=1&b=2'],
  ['add "<https://shop.example>" keyword="&lt;b&gt;"', 'add "https://shop.example" keyword="<b>"'],
  ['list <#C2|general>', 'list #general'],
  ['alerts on mention= <!subteam^S1|@ops>', 'alerts on mention=<!subteam^S1|@ops>'],
])('a slash command with what Slack makes of %s reads well', (text, typed) => {
  const input = parseCommand({
    ...{ command: '/monitor', text, trigger_id: '1.2.abc', channel_id: 'C1', user_id: 'U1' },
    ...{ user_name: 'ada', response_url: 'https://hooks.example/1' },
  });
  expect(input.invocation.request).toEqual({ line: `/monitor ${typed}` });
});

test('a slash command is known by its trigger, and keeps its address for responses', () => {
  const input = parseCommand({
    command: '/monitor',
    text: 'add https://a.example/?a=1&amp;b=2 keyword="a &lt; b"',
    trigger_id: '1.2.abc',
    channel_id: 'C1',
    user_id: 'U1',
    user_name: 'ada',
    response_url: 'https://hooks.example/1',
  });
  expect(input).toEqual({
    invocation: {
      id: 'slack:1.2.abc',
      request: { line: '/monitor add https://a.example/?a=1&b=2 keyword="a < b"' },
      place: { platform: 'slack', channel: 'C1' },
      person: { id: 'U1', name: 'ada' },
    },
    channel: 'C1',
    addressed: true,
    inThread: false,
    responseUrl: 'https://hooks.example/1',
  });
});
