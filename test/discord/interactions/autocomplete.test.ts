import fc from 'fast-check';
import { expect, test } from 'vitest';
import { choicesOf } from '../../../src/discord/interactions/autocomplete.ts';
import { checkOffered } from '../../fakes/discord/limits.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import type { TestBotOptions } from '../../helpers/bot.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';

async function start(options: TestBotOptions = {}) {
  const running = await runDiscord({ bot: options });
  const { discord } = running;
  /** Suggestions for a partly typed command. */
  const offered = (command: string, values: Record<string, string>) => {
    const begun = discord.begin(command, values);
    return eventually(() => begun.offered);
  };
  return { ...running, offered };
}

test.each(['show', ...(long ? ['change', 'pause', 'resume', 'remove'] : [])])(
  '/monitor %s offers monitors by name, and what is chosen is meant',
  async (verb) => {
    const { discord, service, offered } = await start();
    service.add({ name: 'Shop', target: 'https://a.example' });
    const down = service.add({ name: 'Old shop', status: 'DOWN', target: 'https://b.example' });
    service.add({ name: 'Blog', target: 'https://c.example' });
    const all = await offered(`monitor ${verb}`, { monitor: '' });
    expect(all.map(({ name }) => name)).toEqual([
      'Old shop · DOWN · https://b.example',
      'Blog · UP · https://c.example',
      'Shop · UP · https://a.example',
    ]);
    const some = await offered(`monitor ${verb}`, { monitor: 'sho' });
    expect(some.map(({ name }) => name.split(' · ')[0])).toEqual(['Shop', 'Old shop']);
    expect(some[1]?.value).toBe(down.id);
    if (verb !== 'show') return;
    const asked = discord.slash('monitor show', { monitor: down.id });
    await eventually(() => asked.reply?.embeds[0]?.title === 'Old shop is down');
  },
);

test('filters are offered names, and models those that can chat', async () => {
  const models = ['small-4k', { id: 'picture', kind: 'image' }, 'large-200k'];
  const { service, offered } = await start({ models });
  service.add({ name: 'Shop', target: 'https://a.example' });
  const shop = [{ name: 'Shop · UP · https://a.example', value: 'Shop' }];
  expect(await offered('monitor list', { filter: 'SHOP' })).toEqual(shop);
  expect(await offered('monitor alerts', { switch: 'on', filter: 's' })).toEqual(shop);
  expect(await offered('ask', { question: 'Why?', model: '' })).toEqual(
    ['small-4k', 'large-200k'].map((id) => ({ name: id, value: id })),
  );
  expect(await offered('askwatch model', { model: 'Large' })).toEqual([
    { name: 'large-200k', value: 'large-200k' },
  ]);
});

test('whoever types is answered while the service hangs', async () => {
  const { service, offered } = await start();
  service.failWith({ kind: 'hang' });
  expect(await offered('monitor show', { monitor: '' })).toEqual([]);
  expect(await offered('monitor show', { monitor: 's' })).toEqual([]);
});

test('a thousand monitors with hostile names are offered harmlessly, 25 at most', async () => {
  const { service, offered } = await start();
  for (let index = 0; index < 1_000; index += 1) {
    service.add({ name: `@everyone <@123456789012345678>\n${'x'.repeat(150)} ${index}` });
  }
  const some = await offered('monitor pause', { monitor: 'everyone' });
  expect(some).toHaveLength(25);
  for (const { name } of some) {
    expect(name).not.toMatch(/@everyone|<@|\n/);
    expect(name.length).toBeLessThanOrEqual(100);
  }
  // Cut names would filter for something else.
  expect(await offered('monitor list', { filter: 'everyone' })).toEqual([]);
});

test('whatever is suggested, Discord takes what is offered', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 150, unit: anyCharacter }),
    fc.constantFrom('', ' ', '\u200b', '@here', '\n\n', 'x'.repeat(100), '😀'.repeat(60)),
  );
  fc.assert(
    fc.property(fc.array(fc.record({ label: text, value: text }), { maxLength: 60 }), (given) => {
      const choices = choicesOf(given);
      expect(checkOffered({ choices })).toBeUndefined();
      expect(new Set(choices.map(({ value }) => value)).size).toBe(choices.length);
    }),
  );
});
