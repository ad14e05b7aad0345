import { z } from 'zod';
import { type Model, OPTIONAL_PARAMETERS } from '../../contracts/gateway.ts';
import { chatModels, isServed, nameOf, rolesOfOneModel } from '../ask/catalog.ts';
import { type CardPart, compact, tablePart, textPart } from '../shared/card.ts';
import { toAsker } from '../shared/invocation.ts';
import { counted } from '../shared/text-format.ts';
import { command, GROUPS, optionalText } from './command.ts';
import { commandsCard, helpCard, unknownCard, usageCard } from './command-cards.ts';

export const modelsCommand = command({
  name: 'askwatch models',
  summary: 'The models /ask can use, with their context size, inputs and ranks',
  group: 'ask',
  right: 'anyone',
  input: z.object({}),
  examples: ['/askwatch models'],
  async run(_input, { catalog }) {
    const models = await catalog.models();
    const chat = chatModels(models);
    const standard = await catalog.chatModel().catch(() => undefined);
    const images = models.filter(({ kind }) => kind === 'image');
    const roles = rolesOfOneModel(models);
    const footer = compact(
      chat.some((model) => model.ranks) &&
        'Speed, quality and cost are ranks: 1 is slowest, lowest quality, cheapest.',
      !chat.every(isServed) && '“none” means that no connected provider serves that model.',
      'Choose with /ask model=<name> <question>.',
    );
    return toAsker({
      tone: 'info',
      title: `${counted(roles ? 1 : chat.filter(isServed).length, 'model')} can answer`,
      parts: [
        ...(roles ? oneModel(roles) : [textModels(chat, standard?.id)]),
        ...ignoredParameters(chat),
        ...(images.length > 0 ? [imageModels(images)] : []),
      ],
      footer: roles ? undefined : footer.join(' '),
    });
  },
});

/** The only model, and its names in the catalog. */
function oneModel(roles: readonly Model[]): CardPart[] {
  const [first] = roles;
  const [context = 0, ...otherContexts] = new Set(
    roles.map(({ context_length = 0 }) => context_length),
  );
  const isSame = otherContexts.length === 0;
  const accepts = [...new Set(roles.flatMap(({ input = [] }) => input))].join(', ');
  const names = roles.map(({ id, context_length = 0 }) =>
    isSame ? id : `${id} (${sizeInWords(context_length)})`,
  );
  const size = isSame && context > 0 ? sizeInWords(context) : '';
  const row = [first ? nameOf(first) : '', size, accepts, first?.owned_by ?? ''];
  return [
    tablePart(['Model', 'Context', 'Accepts', 'Provider'], [row]),
    textPart(`It answers for every model name in the catalog: ${names.join(', ')}.`),
  ];
}

function textModels(models: readonly Model[], standard: string | undefined): CardPart {
  return tablePart(
    ['Model', 'Context', 'Accepts', 'Speed', 'Quality', 'Cost', 'Answered by', 'Provider'],
    models.map((model) => row(model, model.id === standard)),
  );
}

function row(model: Model, isDefault: boolean): string[] {
  const { id, context_length, input, ranks, owned_by } = model;
  return [
    isDefault ? `${id} (default)` : id,
    context_length === undefined ? '' : sizeInWords(context_length),
    input?.join(', ') ?? '',
    String(ranks?.speed ?? ''),
    String(ranks?.quality ?? ''),
    String(ranks?.cost ?? ''),
    isServed(model) ? nameOf(model) : 'none',
    isServed(model) ? owned_by : '',
  ];
}

/** Parameters that models ignore, where the gateway says so. Models of one provider usually share a line. */
function ignoredParameters(models: readonly Model[]): CardPart[] {
  const modelsBy = new Map<string, string[]>();
  for (const { id, supported_parameters: supported } of models) {
    const ignored = OPTIONAL_PARAMETERS.filter((name) => supported && !supported.includes(name));
    const names = ignored.join(', ');
    if (names !== '') modelsBy.set(names, [...(modelsBy.get(names) ?? []), id]);
  }
  if (modelsBy.size === 0) return [];
  const lines = [...modelsBy].map(([names, ids]) => {
    const whose = ids.length === models.length ? 'all models' : ids.join(', ');
    return `Ignored parameters: ${names} (${whose})`;
  });
  return [textPart(lines.join('\n'))];
}

function imageModels(models: readonly Model[]): CardPart {
  return tablePart(
    ['Image model', 'Image sizes', 'Provider'],
    models.map(({ id, resolutions = [], owned_by }) => [
      id,
      [...new Set([resolutions[0], resolutions.at(-1)])].filter(Boolean).join(' to '),
      owned_by,
    ]),
  );
}

/** Writes context sizes like providers: 200K is 200,000 tokens, 8K is 8,192. */
function sizeInWords(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  return `${tokens % 1024 === 0 ? tokens / 1024 : Math.round(tokens / 1000)}K`;
}

export const helpCommand = command({
  name: 'askwatch help',
  summary: 'The most useful commands, all of one group, or everything about one command',
  group: 'ask',
  right: 'anyone',
  input: z.object({
    topic: optionalText(100, `A group (${GROUPS.join(', ')}) or a command, such as monitor add`),
  }),
  examples: ['/askwatch help', '/askwatch help watch', '/askwatch help monitor add'],
  wholeLine: true,
  async run({ topic = '' }, { commands, settings }) {
    const words = topic.toLowerCase();
    if (words === '') return toAsker(helpCard(commands, settings.pagesUrl));
    const group = commands.filter((one) => one.group === words);
    if (group.length > 0) return toAsker(commandsCard(group, `Commands: ${words}`));
    const name = words.replace(/^\//, '');
    const found = commands.find((one) => one.name === name);
    return toAsker(found ? usageCard(found) : unknownCard(name, commands));
  },
});
