import { expect, test } from 'vitest';
import type { startDiscord } from '../../fakes/discord/discord.ts';
import { checkMessage } from '../../fakes/discord/limits.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { labelsOf, runDiscord } from '../../helpers/discord/run-discord.ts';
import { eventually } from '../../helpers/eventually.ts';

/** The numbers of the monitors in a list, whose names end with them. */
const numbersIn = ({ embeds }: FakeMessage) =>
  [...String(embeds[0]?.description).matchAll(/#(\d{3})/g)].map(([, number]) => Number(number));

/** Turns pages with the button of this label until there is none; gives each page, in order. */
async function turn(
  discord: Awaited<ReturnType<typeof startDiscord>>,
  from: FakeMessage,
  label: string,
): Promise<FakeMessage[]> {
  const pages = [from];
  for (let page = from; labelsOf(page).includes(label); ) {
    const pressed = discord.press(page, label);
    page = await eventually(() => pressed.followUps[0]);
    pages.push(page);
  }
  return pages;
}

test('/monitor list of 500 monitors with long names turns its pages to the end and back', async () => {
  const { discord, service } = await runDiscord();
  for (let index = 0; index < 500; index += 1) {
    const name = `#${String(index).padStart(3, '0')} ${'`*_x'.repeat(60)}`.slice(0, 250);
    service.add({ name, status: index % 50 === 0 ? 'DOWN' : 'UP' });
  }
  const asked = discord.slash('monitor list');
  const first = await eventually(() => asked.reply?.embeds[0] && asked.reply);
  expect(numbersIn(first).slice(0, 10)).toEqual([0, 50, 100, 150, 200, 250, 300, 350, 400, 450]);
  const forth = await turn(discord, first, 'Next');
  expect(forth.length).toBeGreaterThan(5);
  // Every monitor stands on one page, and none is cut off by a limit of Discord's.
  const shown = forth.flatMap(numbersIn);
  expect(shown).toHaveLength(500);
  expect(new Set(shown).size).toBe(500);
  for (const page of forth) {
    expect(checkMessage({ embeds: page.embeds, components: page.components }, 'post')).toBe(
      undefined,
    );
    expect(String(page.embeds[0]?.description)).not.toMatch(/… and \d+ more/);
  }
  // The list that everybody sees stays the first page.
  expect(labelsOf(first)).toEqual(['Next']);
  const back = await turn(discord, forth.at(-1) ?? first, 'Previous');
  expect(back.map(numbersIn)).toEqual([...forth].reverse().map(numbersIn));
});
