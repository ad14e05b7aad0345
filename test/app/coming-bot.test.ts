import { expect, test } from 'vitest';
import { comingBot } from '../../src/app/coming-bot.ts';
import type { Bot } from '../../src/bot/platform.ts';
import { startTestBot } from '../helpers/bot.ts';

const PLACE = { platform: 'toy', channel: 'garden' };

/** A bot that notes what it is asked, and one that waits for it. */
function create() {
  const asked: string[] = [];
  const note = (what: string, gives?: unknown) => async () => {
    asked.push(what);
    return gives;
  };
  const bot = {
    dispatch: async ({ id }: { id: string }) => {
      asked.push(`dispatch ${id}`);
      return { kind: 'nothing' };
    },
    isConversation: note('isConversation', true),
    homes: { of: note('homes.of', 'a home') },
    shownAnswers: { add: note('shownAnswers.add') },
  } as unknown as Bot;
  let come = (_bot: Bot) => {};
  const coming = new Promise<Bot>((resolve) => {
    come = resolve;
  });
  const interrupted: string[] = [];
  const waiting = comingBot(coming, {
    ...{ commands: [], forms: [] },
    interrupt: (platform) => {
      interrupted.push(platform);
      return () => {};
    },
  });
  const dispatch = (id: string) =>
    waiting.dispatch({
      ...{ id, request: { line: '/ask' }, place: PLACE, person: { id: 'ada', name: 'Ada' } },
    });
  return { asked, waiting, dispatch, interrupted, come: () => come(bot) };
}

test('what a platform asks before the bot is there waits, and is then done in order', async () => {
  const { asked, waiting, dispatch, come } = create();
  const all = [
    dispatch('1'),
    waiting.isConversation(PLACE, 't1'),
    waiting.homes.of({ platform: 'toy', id: 'ada', at: async () => undefined }),
    dispatch('2'),
    waiting.shownAnswers.add(PLACE, 'm1', { place: PLACE, thread: 't1' }),
  ];
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(asked).toEqual([]);
  come();
  const given = await Promise.all(all);
  expect(asked).toEqual([
    'dispatch 1',
    'isConversation',
    'homes.of',
    'dispatch 2',
    'shownAnswers.add',
  ]);
  expect(given.slice(0, 3)).toEqual([{ kind: 'nothing' }, true, 'a home']);
  await dispatch('3');
  expect(asked.at(-1)).toBe('dispatch 3');
});

test('commands and forms are there at once, and a platform can be made anew before the bot is there', () => {
  const { waiting, interrupted } = create();
  expect(waiting.commands).toEqual([]);
  waiting.interrupt('toy')();
  expect(interrupted).toEqual(['toy']);
});

test('the waiting bot offers every member that the bot has for platforms', async () => {
  const { bot } = await startTestBot();
  const { incidents: _, features: __, start: ___, stop: ____, ...forPlatforms } = bot;
  const { waiting } = create();
  const members = (of: object) => Object.keys(of).sort();
  expect(members(waiting)).toEqual(members(forPlatforms));
});
