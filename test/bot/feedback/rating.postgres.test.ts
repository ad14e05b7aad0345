import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { CardAction } from '../../../src/bot/shared/card.ts';
import type { Invocation } from '../../../src/bot/shared/invocation.ts';
import { runFeedback } from '../../../src/cli/feedback.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { CHANNEL, cardOf, readAnswer, startTestBot, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

const ADA = { id: 'U0', name: 'Ada' };
const PEOPLE = [
  ADA,
  ...Array.from({ length: 9 }, (_, at) => ({ id: `U${at + 1}`, name: `Person ${at}` })),
];

describe.skipIf(!hasPostgres)('two bots over one database', () => {
  async function start() {
    const { open, url, schema } = await testDatabase();
    const bots = [
      await startTestBot({ store: await open() }),
      await startTestBot({ store: await open() }),
    ];
    const [first, second] = bots as [(typeof bots)[0], (typeof bots)[0]];
    vi.stubEnv('DATABASE_URL', url);
    vi.stubEnv('DATABASE_SCHEMA', schema);
    onTestFinished(() => void vi.unstubAllEnvs());
    async function exported() {
      const out = new PassThrough();
      const read = text(out);
      await runFeedback(['export'], {}, { version: '0.0.0', out });
      out.end();
      return (await read)
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
    }
    return { first, second, exported };
  }

  let gestures = 0;
  const gestureOf = (
    actions: readonly CardAction[] | undefined,
    label: string,
    more: Partial<Invocation>,
  ): Invocation => {
    const action = actions?.find((one) => one.label === label);
    if (!action) throw new Error(`There is no button ${label}.`);
    gestures += 1;
    const { command, values } = action;
    const request = { command, values };
    const pressed = `m${gestures}`;
    return {
      id: `g${gestures}`,
      request,
      place: CHANNEL,
      person: ADA,
      pressed,
      ...more,
    };
  };

  test('ratings on both count, each once, whoever hears them, and are exported from the database', async () => {
    const { first, second, exported } = await start();
    first.provider.answerWith('Since it rains.');
    const { end } = await readAnswer(await first.say('/ask why?', { thread: 'T1' }), 'T1');
    const rated = PEOPLE.map((person, at) =>
      (at % 2 === 0 ? first : second).bot.dispatch(
        gestureOf(end.actions, at < 3 ? '👍' : '👎', { person, thread: 'T1' }),
      ),
    );
    for (const reply of await Promise.all(rated)) expect(cardOf(reply).title).toContain('rated');
    // One delivery that both hear.
    const twice = gestureOf(end.actions, '👎', { thread: 'T1' });
    const replies = await Promise.all([first, second].map(({ bot }) => bot.dispatch(twice)));
    expect(replies.map(({ kind }) => kind).sort()).toEqual(['card', 'nothing']);
    const usage = textOf(cardOf(await second.say('/askwatch usage')));
    expect(usage).toContain('👍 2 · 👎 8');
    expect(await exported()).toMatchObject([
      { up: 2, down: 8, question: 'why?', answer: 'Since it rains.' },
    ]);
    await second.say('/askwatch forget', { thread: 'T1' });
    expect(await exported()).toEqual([]);
  });

  test('a private answer is rated where it is known, whoever hears the press', async () => {
    const { first, second, exported } = await start();
    const shown: string[] = [];
    for (const { bot } of [first, second]) {
      await bot.start([
        {
          ...createScriptedPlatform(CHANNEL.platform),
          async takeOver({ invocation, dispatch }) {
            shown.push(textOf(cardOf(await dispatch(invocation))));
          },
        },
      ]);
    }
    first.provider.answerWith('Quietly.');
    const { end } = await readAnswer(await first.say('/ask private=true psst?', { person: ADA }));
    const press = gestureOf(end.actions, '👎', {});
    expect(await second.bot.dispatch(press)).toEqual({ kind: 'nothing' });
    await eventually(() => shown.length === 1);
    expect(shown[0]).toContain('Only the rating is kept');
    const [line] = await exported();
    expect(line).toMatchObject({ private: true, down: 1, model: expect.stringMatching(/\w/) });
    expect(line).not.toHaveProperty('question');
  });
});
