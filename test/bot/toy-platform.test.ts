import { expect, test } from 'vitest';
import type { Bot, Platform } from '../../src/bot/platform.ts';
import type { Card } from '../../src/bot/shared/card.ts';
import { startTestBot } from '../helpers/bot.ts';
import { eventually } from '../helpers/eventually.ts';

/** All that a chat platform has to be: one that exists nowhere but here, so no file of the program knows its name. */
function createToy(): Platform & {
  say(line: string): Promise<void>;
  shown: string[];
  posted: Card[];
} {
  const shown: string[] = [];
  const posted: Card[] = [];
  let bot: Bot | undefined;
  let said = 0;
  return {
    name: 'toy',
    shown,
    posted,
    async start(given) {
      bot = given;
    },
    async stop() {
      bot = undefined;
    },
    async say(line) {
      said += 1;
      const reply = await bot?.dispatch({
        id: `toy:${said}`,
        request: { line },
        place: { platform: 'toy', channel: 'hall' },
        person: { id: 'ada', name: 'Ada' },
      });
      if (reply?.kind === 'card') shown.push(reply.card.title);
      if (reply?.kind !== 'answer') return;
      await reply.begin({ thread: `thread ${said}` });
      for await (const part of reply.stream(`thread ${said}`)) {
        shown.push(part.kind === 'text' ? part.text : `(${part.footer})`);
      }
      await reply.ended();
    },
    async post({ card, id }) {
      posted.push(card);
      return { message: id, thread: id };
    },
    async update(_channel, _posted, card) {
      posted.push(card);
    },
    async announce({ card }) {
      posted.push(card);
    },
  };
}

test('a platform from outside the program asks, sees the answer grow, and is told of an alert', async () => {
  const { bot, provider, service } = await startTestBot();
  const toy = createToy();
  await toy.start(bot);
  await bot.start([toy]);

  const letGo = provider.holdChunks(1);
  provider.answerWith(['Light ', 'scatters.']);
  const answered = toy.say('/ask why is the sky blue?');
  // The first words are shown while the rest is still to come.
  await eventually(() => toy.shown.length === 1);
  expect(toy.shown).toEqual(['Light ']);
  letGo();
  await answered;
  const [, second, end] = toy.shown.splice(0);
  expect(second).toBe('scatters.');
  expect(end).toMatch(/^\(.+ · .+\)$/);

  await toy.say('/monitor add https://shop.example name=Shop');
  expect(toy.shown).toEqual([expect.stringContaining('Shop')]);
  await toy.say('/monitor alerts on mention=@everyone');
  expect(toy.shown.at(-1)).toBe('/monitor alerts did not work');
  const id = service.monitors[0]?.id ?? '';
  // One that is DOWN at its first poll would be told of, too, but as found so.
  const polls = () => service.requests.filter(({ method }) => method === 'GET').length;
  const before = polls();
  await eventually(() => polls() > before + 1);
  service.setStatus(id, 'DOWN');
  await eventually(() => toy.posted.some(({ title }) => title === 'Shop is DOWN'));
  service.setStatus(id, 'UP');
  await eventually(() => toy.posted.some(({ title }) => title === 'Shop recovered'));
  await toy.stop();
});
