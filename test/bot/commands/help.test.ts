import { expect, test } from 'vitest';
import { GROUPS } from '../../../src/bot/commands/command.ts';
import { actions, commands } from '../../../src/bot/features.ts';
import { cardOf, startTestBot, textOf } from '../../helpers/bot.ts';

/** Commands of the card's table, by group. */
async function helpRows() {
  const { say } = await startTestBot();
  const card = cardOf(await say('/askwatch help'));
  const [table] = card.parts;
  const groups: Record<string, string[]> = {};
  let group = '';
  for (const [name = '', command = ''] of table?.kind === 'table' ? table.rows : []) {
    group = name === '' ? group : name;
    groups[group] = [...(groups[group] ?? []), command];
  }
  return { card, groups };
}

test('every command that people can type has a group, and no button has one', () => {
  expect(commands.filter(({ group }) => group === undefined).map(({ name }) => name)).toEqual([]);
  expect(actions.filter(({ group }) => group !== undefined)).toEqual([]);
});

test('help shows at most five lines for each group', async () => {
  const { card, groups } = await helpRows();
  expect(Object.keys(groups).map((name) => name.toLowerCase())).toEqual([...GROUPS]);
  expect(Math.max(...Object.values(groups).map(({ length }) => length))).toBe(5);
  expect(groups.Ask?.[0]).toBe('/ask <question> …');
  expect(groups.Watch?.at(-1)).toBe('/askwatch help watch');
  expect(textOf(card)).toContain('More: pause, resume, remove, heartbeat');
  expect(textOf(card)).toContain('docs/commands.md');
  expect(card.link).toBeUndefined();
});

test('help links to the status page if people can reach it', async () => {
  const { say } = await startTestBot({ settings: { pagesUrl: 'https://status.example' } });
  const { link } = cardOf(await say('/askwatch help'));
  expect(link?.url).toBe('https://status.example/status');
});

test.each([
  ['watch', 'Commands: watch', '/monitor heartbeat <token>'],
  ['Set up', 'Commands: set up', '/monitor intake …'],
  ['monitor add', 'How to use /monitor add', 'keyword (optional): Text that the page must contain'],
  ['/monitor change', 'How to use /monitor change', '/monitor change Shop interval=5m'],
  ['ask', 'Commands: ask', '/askwatch forget'],
  ['/ask', 'How to use /ask', 'question: '],
  ['monitor', 'Commands of /monitor', '/monitor remove <monitor>'],
  ['pause', "I don't know /pause. Did you mean /monitor pause?", '/monitor pause shop'],
  ['cooking', "I don't know /cooking", '/askwatch help'],
])('help explains a group or a command: %s', async (topic, title, text) => {
  const { say } = await startTestBot();
  const card = cardOf(await say(`/askwatch help ${topic}`));
  expect(card.title).toBe(title);
  expect(textOf(card)).toContain(text);
});
