import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runFeedback } from '../../../src/cli/feedback.ts';
import { CHANNEL, cardOf, readAnswer, startTestBot, textOf } from '../../helpers/bot.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

const PEOPLE = Array.from({ length: 10 }, (_, at) => ({ id: `U${at}`, name: `Person ${at}` }));

test.skipIf(!hasPostgres)(
  'ratings in a database count each once, are exported, and outlive the bot that took them',
  async () => {
    const { open, url, schema } = await testDatabase();
    vi.stubEnv('DATABASE_URL', url);
    vi.stubEnv('DATABASE_SCHEMA', schema);
    onTestFinished(() => void vi.unstubAllEnvs());
    async function exported() {
      const out = new PassThrough();
      const read = text(out);
      await runFeedback(['export'], {}, { version: '0.0.0', out });
      out.end();
      const lines = (await read).split('\n').filter((line) => line !== '');
      return lines.map((line) => JSON.parse(line));
    }

    const first = await startTestBot({ store: await open() });
    first.provider.answerWith('Since it rains.');
    const { end } = await readAnswer(await first.say('/ask why?', { thread: 'T1' }), 'T1');
    const rate = (id: string, label: string, person = PEOPLE[0]) => {
      const action = end.actions?.find((one) => one.label === label);
      if (!action || !person) throw new Error(`There is no button ${label}.`);
      const { command, values } = action;
      const gesture = { place: CHANNEL, thread: 'T1', person, pressed: `m${id}` };
      return first.bot.dispatch({ id, request: { command, values }, ...gesture });
    };
    const rated = PEOPLE.map((person, at) => rate(`g${at}`, at < 3 ? '👍' : '👎', person));
    for (const reply of await Promise.all(rated)) expect(cardOf(reply).title).toContain('rated');
    // One delivery that comes twice at the same time.
    const replies = await Promise.all([rate('twice', '👎'), rate('twice', '👎')]);
    expect(replies.map(({ kind }) => kind).sort()).toEqual(['card', 'nothing']);
    await first.stop();

    const second = await startTestBot({ store: await open() });
    const usage = textOf(cardOf(await second.say('/askwatch usage')));
    expect(usage).toContain('👍 2 · 👎 8');
    expect(await exported()).toMatchObject([
      { up: 2, down: 8, question: 'why?', answer: 'Since it rains.' },
    ]);
    await second.say('/askwatch forget', { thread: 'T1' });
    expect(await exported()).toEqual([]);
  },
);
