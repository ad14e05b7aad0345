import { ApplicationCommandOptionType, InteractionContextType } from 'discord.js';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { command } from '../../../src/bot/commands/command.ts';
import { commands } from '../../../src/bot/features.ts';
import { discordCommands, typedCommands } from '../../../src/discord/api/commands.ts';
import { checkCommands } from '../../fakes/discord/limits.ts';

const declare = (name: string, input = z.object({}), summary = `Does ${name}`) =>
  command({
    ...{ name, summary, right: 'anyone', input, examples: [] },
    run: async () => ({ kind: 'nothing' }),
  });

test('the command table is one that Discord takes, for servers and direct messages', () => {
  const made = discordCommands(commands);
  expect(checkCommands(made as Parameters<typeof checkCommands>[0])).toBeUndefined();
  expect(made.map(({ name }) => name)).toEqual([
    'ask',
    'askwatch',
    'monitor',
    'Ask about this message',
  ]);
  for (const { contexts } of made) {
    expect(contexts).toEqual([InteractionContextType.Guild, InteractionContextType.BotDM]);
  }
});

test('a second word becomes a subcommand of the first', () => {
  const [monitor, ask] = typedCommands([
    declare('monitor add'),
    declare('ask'),
    declare('monitor list'),
  ]);
  expect(monitor?.name).toBe('monitor');
  expect(monitor?.options?.map(({ name, type }) => [name, type])).toEqual([
    ['add', ApplicationCommandOptionType.Subcommand],
    ['list', ApplicationCommandOptionType.Subcommand],
  ]);
  expect(ask).toMatchObject({ name: 'ask', description: 'Does ask', options: [] });
});

test('inputs become options of their kind, required ones first', () => {
  const input = z.object({
    loud: z.boolean().optional().describe('Loudly'),
    kind: z.enum(['HTTP', 'DNS']).optional().describe('Kind'),
    interval: z.int().min(5).max(60).optional().describe('Seconds'),
    count: z.int().optional().describe('How many'),
    target: z.string().describe('Where'),
  });
  const [made] = typedCommands([declare('check', input)]);
  expect(made?.options).toEqual([
    { type: 3, name: 'target', description: 'Where', required: true },
    { type: 5, name: 'loud', description: 'Loudly', required: false },
    {
      type: 3,
      name: 'kind',
      description: 'Kind',
      required: false,
      choices: [
        { name: 'HTTP', value: 'HTTP' },
        { name: 'DNS', value: 'DNS' },
      ],
    },
    {
      type: 4,
      name: 'interval',
      description: 'Seconds',
      required: false,
      min_value: 5,
      max_value: 60,
    },
    { type: 4, name: 'count', description: 'How many', required: false },
  ]);
});

test('descriptions that are too long for Discord are cut', () => {
  const [made] = typedCommands([declare('ask', z.object({}), 'x'.repeat(150))]);
  expect(made?.description).toBe(`${'x'.repeat(99)}…`);
});

test('a choice with more values than Discord offers is a text', () => {
  const values = Array.from({ length: 26 }, (_, index) => `v${index}`) as [string, ...string[]];
  const [made] = typedCommands([declare('pick', z.object({ one: z.enum(values) }))]);
  expect(made?.options?.[0]).toEqual({ type: 3, name: 'one', description: 'one', required: true });
});

test('a command beside subcommands of the same name is refused', () => {
  expect(() => typedCommands([declare('monitor'), declare('monitor add')])).toThrow('/monitor');
});
