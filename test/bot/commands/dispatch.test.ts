import { expect, onTestFinished, test, vi } from 'vitest';
import type { UnfinishedAnswers } from '../../../src/bot/ask/unfinished-answers.ts';
import { messageActions } from '../../../src/bot/commands/commands.ts';
import { createDispatch, type Services } from '../../../src/bot/commands/dispatch.ts';
import { actions, commands } from '../../../src/bot/features.ts';
import type { Claims } from '../../../src/bot/platform.ts';
import type { Invocation } from '../../../src/bot/shared/invocation.ts';
import type { Place } from '../../../src/bot/shared/place.ts';
import {
  openSeenInvocations,
  type SeenInvocations,
} from '../../../src/bot/shared/seen-invocations.ts';
import { LeaseLostError, StoreUnavailableError } from '../../../src/store/errors.ts';
import type { Collection, Store } from '../../../src/store/store.ts';
import { CHANNEL, cardOf, readAnswer, startTestBot, textOf } from '../../helpers/bot.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const invocationOf = (id: string): Invocation => ({
  id,
  request: { line: '/monitor list' },
  place: CHANNEL,
  person: { id: 'U1', name: 'Ada' },
});

const KIND = { isQuestion: false, private: false };

test.each([
  ['/monitor', 'info', 'Commands of /monitor'],
  ['', 'info', 'What Askwatch can do'],
  ['/monitor lst shop', 'warning', "I don't know /monitor lst. Did you mean /monitor list?"],
  ['/monitr show shop', 'warning', "I don't know /monitr show. Did you mean /monitor show?"],
  ['/askk why?', 'warning', "I don't know /askk. Did you mean /ask?"],
  ['/pause', 'warning', "I don't know /pause. Did you mean /monitor pause?"],
  ['/monitr', 'warning', "I don't know /monitr. Did you mean /monitor?"],
  [
    '/monitor explode',
    'warning',
    "I don't know /monitor explode\nCommands: /monitor add, /monitor",
  ],
  ['/monitor add', 'info', '/monitor add example.com record=MX'],
  ['/monitor add https://x.example interval=soon', 'warning', 'Use 30s, 5m, 2h or 1d'],
  ['/monitor add https://x.example interval=soon', 'warning', '/monitor add <target> [name]'],
  ['/monitor add ftp://x.example', 'warning', 'is not a web address'],
  ['/monitor add "not a host"', 'warning', 'is not a web address'],
  ['/monitor add https://x.example type=KEYWORD', 'warning', 'keyword=Cart'],
  ['/monitor add https://x.example type=DNS keyword=a', 'warning', 'works with type=KEYWORD'],
  ['/monitor add https://x.example type=HTTP record=A', 'warning', 'works with type=DNS'],
  ['/monitor add job type=HEARTBEAT', 'warning', 'check_type must be HTTP, KEYWORD or DNS.'],
  ['/monitor show nothing', 'warning', 'No monitor called “nothing”'],
  ['/ask', 'info', 'How to use /ask'],
])('a wrong or incomplete command gets a card: %s', async (line, tone, text) => {
  const { say } = await startTestBot();
  const reply = await say(line);
  expect(reply).toMatchObject({ kind: 'card', private: true, card: { tone } });
  expect(textOf(cardOf(reply))).toContain(text);
});

test('an error card names the service that cannot be reached and its setting', async () => {
  const { say, service, provider, lines } = await startTestBot();
  await service.close();
  const list = textOf(cardOf(await say('/monitor list')));
  expect(list).toContain('The monitoring service cannot be reached.');
  expect(list).toContain('If it runs elsewhere, check MONITORING_BASE_URL.');
  await provider.close();
  const models = textOf(cardOf(await say('/askwatch models')));
  expect(models).toContain('The model gateway cannot be reached.');
  expect(models).toContain('If it runs elsewhere, check GATEWAY_BASE_URL.');
  expect(lines.filter(({ msg }) => String(msg).includes('could not reach'))).toHaveLength(2);
});

test('an error card says when to try again after a 429', async () => {
  const { say, service } = await startTestBot();
  service.failWith({ kind: 'status', status: 429, headers: { 'retry-after': '45' } });
  expect(textOf(cardOf(await say('/monitor list')))).toContain('Try again in 45 seconds.');
});

test('a command that cannot be stored does nothing, and its card has a log id', async () => {
  const { say, store, service, lines } = await startTestBot();
  await store.close();
  const card = cardOf(await say('/monitor add https://x.example'));
  expect(card).toMatchObject({ tone: 'bad', title: 'Something went wrong' });
  const logId = /Log id (\w{8})/.exec(textOf(card))?.[1];
  expect(lines.find((line) => line.logId === logId)).toMatchObject({ level: 50 });
  expect(service.monitors).toEqual([]);
});

/** The store, whose calls reject with the error that is in `fault`. */
function withFault(store: Store, fault: { error?: Error }): Store {
  const during = async <T>(call: () => Promise<T>): Promise<T> => {
    if (fault.error) throw fault.error;
    return await call();
  };
  const faulty = <T>(collection: Collection<T>): Collection<T> => ({
    ...collection,
    get: (id) => during(() => collection.get(id)),
    list: () => during(() => collection.list()),
    update: (id, change) => during(() => collection.update(id, change)),
  });
  return {
    ...store,
    collection: (declaration) => faulty(store.collection(declaration)),
    claims(declaration) {
      const claims = store.claims(declaration);
      return { ...claims, claim: (id, facts) => during(() => claims.claim(id, facts)) };
    },
    under: (lease) => withFault(store.under(lease), fault),
  };
}

test.each([
  [new StoreUnavailableError('gone'), 'Askwatch cannot reach its database. Try again in a moment.'],
  [new LeaseLostError(), 'The bot is moving to another Askwatch process. Try again in a moment.'],
])('cards and answers name the cause when the database fails: %s', async (error, sentence) => {
  const fault: { error?: Error } = {};
  const real = await openTestStore({ folder: await temporaryFolder(), log: recordingLog().log });
  onTestFinished(() => real.close());
  const { say } = await startTestBot({ store: withFault(real, fault) });
  const asked = await say('/ask why?');
  fault.error = error;
  expect((await readAnswer(asked, 't1')).end.note).toBe(sentence);
  expect(textOf(cardOf(await say('/ask why?')))).toContain(sentence);
  expect(textOf(cardOf(await say('/monitor list')))).toContain(sentence);
  fault.error = undefined;
});

test('a command may come with values instead of a line', async () => {
  const { send } = await startTestBot();
  const asked = await send({ command: 'ask', values: { question: 'Why?', private: true } });
  expect(asked).toMatchObject({ kind: 'answer', question: 'Why?', private: true });
  const unknown = await send({ command: 'nope', values: {} });
  expect(cardOf(unknown).title).toBe("I don't know /nope");
});

test('a repeated delivery has no effect', async () => {
  const { say, service } = await startTestBot();
  const line = '/monitor add https://x.example';
  const replies = await Promise.all([1, 2, 3, 4].map(() => say(line, { id: 'E1' })));
  expect(replies.map(({ kind }) => kind).sort()).toEqual(['card', 'nothing', 'nothing', 'nothing']);
  expect(await say(line, { id: 'E1' })).toEqual({ kind: 'nothing' });
  expect(service.monitors).toHaveLength(1);
});

test('a repeated question gets no second answer', async () => {
  const { say, provider } = await startTestBot();
  const first = await say('/ask why?', { id: 'E1' });
  expect(await say('/ask why?', { id: 'E1' })).toEqual({ kind: 'nothing' });
  await readAnswer(first, 't1');
  expect(await say('/ask why?', { id: 'E1' })).toEqual({ kind: 'nothing' });
  expect(provider.calls).toHaveLength(1);
});

test('a repeated delivery has no effect after a restart', async () => {
  const folder = await temporaryFolder();
  const first = await startTestBot({ folder });
  await readAnswer(await first.say('/ask why?', { id: 'whole' }), 't1');
  // This one gets a note after the restart.
  await first.say('/ask why?', { id: 'unread' });
  await first.say('/monitor list', { id: 'card' });
  await first.stop();
  const second = await startTestBot({ folder });
  for (const id of ['whole', 'unread', 'card']) {
    expect(await second.say('/ask why?', { id })).toEqual({ kind: 'nothing' });
  }
});

test('a delivery is known for a day', async () => {
  let nowMs = 1_800_000_000_000;
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  vi.spyOn(Date, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const seen = openSeenInvocations(store);
  expect(await seen.once(invocationOf('a'), KIND)).toBeTruthy();
  await seen.finish('a');
  nowMs += 86_399_000;
  expect(await seen.once(invocationOf('a'), KIND)).toBeUndefined();
  nowMs += 2_000;
  expect(await seen.once(invocationOf('a'), KIND)).toBeTruthy();
  await store.close();
});

test.each<[Invocation['request'], { isQuestion: boolean; private: boolean }]>([
  [{ line: '/ask why?' }, { isQuestion: true, private: false }],
  [{ line: '/ask private=true why?' }, { isQuestion: true, private: true }],
  [{ line: '/ask private=false why?' }, { isQuestion: true, private: false }],
  [{ line: '/ask is it private?' }, { isQuestion: true, private: false }],
  [{ line: '/aks private=true why?' }, { isQuestion: false, private: true }],
  [{ line: '/monitor list' }, { isQuestion: false, private: false }],
  [
    { command: 'ask', values: { question: 'Why?', private: true } },
    { isQuestion: true, private: true },
  ],
  [
    { command: 'ask', values: { question: 'Why?', private: 'true' } },
    { isQuestion: true, private: true },
  ],
  [
    { command: 'ask about', values: { private: 'yes' } },
    { isQuestion: true, private: true },
  ],
  [
    { command: 'answer stop', values: { answer: 'a' } },
    { isQuestion: false, private: false },
  ],
  [
    { command: 'nothing of ours', values: {} },
    { isQuestion: false, private: true },
  ],
])('%j is stored as a question or not, and as private or not', async (request, kind) => {
  const kinds: object[] = [];
  const { log } = recordingLog();
  const dispatch = createDispatch(
    { commands, actions: [...actions, ...messageActions], log } as unknown as Services,
    {
      seenInvocations: {
        async once(_: Invocation, stored: object) {
          kinds.push(stored);
        },
      } as unknown as SeenInvocations,
      pressed: {} as Claims<never>,
      unfinished: {} as UnfinishedAnswers,
    },
  );
  await dispatch({ ...invocationOf('a'), request });
  expect(kinds).toEqual([kind]);
});

test('/monitor alerts shows the filter of the channel', async () => {
  const ops: Place = { platform: 'slack', channel: 'C1' };
  const { say } = await startTestBot({ settings: { alertPlaces: [ops] } });
  const said = async (words: string, where: Partial<Pick<Invocation, 'place'>> = {}) =>
    textOf(cardOf(await say(`/monitor alerts ${words}`, where)));
  expect(await said('on shop')).toContain(
    'gets alerts for monitors with “shop” in name or target.',
  );
  expect(await said('on')).toContain('gets alerts for every monitor.');
  expect(await said('off blog')).toContain(
    'every monitor, except those with “blog” in name or target.',
  );
  expect(await said('off')).toContain('gets no alerts.');
  await say('/monitor add https://shop.example');
  expect(await said('on blog')).toContain('the monitor added here and monitors with “blog”');
  expect(await said('off shop')).toMatch(/gets alerts for monitors with “blog” in name or target/);
  expect(await said('off', { place: ops })).toContain('it is listed in ALERT_CHANNELS');
});

test('/askwatch models shows what each model can, with the default marked', async () => {
  const ranks = { speed: 1, quality: 2, cost: 3 };
  const { say } = await startTestBot({
    settings: { askModel: 'large' },
    models: [
      { id: 'small', kind: 'text', context_length: 8192, input: ['text'], ranks },
      {
        id: 'large',
        kind: 'text',
        context_length: 200_000,
        input: ['text', 'image'],
        supported_parameters: ['max_tokens', 'n', 'stream', 'stop', 'presence_penalty'],
      },
      { id: 'wide', kind: 'image', resolutions: ['1024x1024', '1792x1024'] },
    ],
  });
  const text = textOf(cardOf(await say('/askwatch models')));
  expect(text).toContain('2 models can answer');
  expect(text).toContain('small | 8K | text | 1 | 2 | 3 | small | fake');
  expect(text).toContain('large (default) | 200K | text, image');
  expect(text).toContain('Ignored parameters: temperature, top_p, frequency_penalty (large)');
  expect(text).not.toContain('(small)');
  expect(text).toContain('wide | 1024x1024 to 1792x1024 | fake');
});

test('an unavailable model is marked, and never chosen automatically', async () => {
  const unserved = { available: false, unavailable_reason: 'Set OPENAI_API_KEY.' };
  const { bot, say, lines } = await startTestBot({
    settings: { askModel: 'seeing', mayManage: 'everyone' },
    models: [
      { id: 'seeing', kind: 'text', ...unserved },
      { id: 'long', kind: 'text', ...unserved },
      { id: 'small', kind: 'text' },
    ],
  });
  const says = async (typed: string) => textOf(cardOf(await say(typed)));
  for (const _ of [1, 2]) expect(await says('/askwatch model')).toContain('small answers here');
  const told = lines.filter(({ msg }) => String(msg).includes('ASK_MODEL'));
  expect(told).toMatchObject([{ level: 40, model: 'seeing', instead: 'small' }]);
  expect(await says('/askwatch model LONG')).toMatch(
    /“long” is not available now\. Set OPENAI_API_KEY\. Available models: small\./,
  );
  const card = await says('/askwatch models');
  expect(card).toContain('1 model can answer');
  expect(card).toMatch(/long .*\| none \|/);
  expect(card).toContain('small (default)');
  expect(await bot.suggest('model', '')).toEqual([
    { label: 'small', value: 'small' },
    { label: 'seeing · not available now', value: 'seeing' },
    { label: 'long · not available now', value: 'long' },
  ]);
});
