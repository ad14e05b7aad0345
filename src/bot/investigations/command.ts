import { z } from 'zod';
import { readBudget } from '../ask/budgets.ts';
import { isOffline } from '../ask/catalog.ts';
import { type Investigating, investigatingInWords } from '../channels/channel-settings.ts';
import { requireTags, tagsField } from '../channels/monitor-filter.ts';
import { type Call, command, optionalDuration, optionalText } from '../commands/command.ts';
import { textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { toAsker, toEveryone } from '../shared/invocation.ts';
import { placeKey } from '../shared/place.ts';
import { mayManage } from '../shared/rights.ts';
import { shortened } from '../shared/text-format.ts';
import { tokensToday } from './run-investigation.ts';

const STANDARD: Investigating = { afterMs: 60_000, tokensPerDay: 50_000 };

const AFTER = { minMs: 10_000, maxMs: 24 * 3_600_000 };

const input = z.object({
  switch: z.enum(['on', 'off']).optional().describe('on or off; if omitted, shows the setting'),
  tags: tagsField,
  budget: optionalText(
    40,
    'Tokens that investigations here may use, such as 50k/day (the default)',
  ),
  after: optionalDuration(AFTER, 'How long an outage lasts before it is investigated; default: 1m'),
});

/** Turns on that Askwatch looks for the cause of an outage by itself. */
export const monitorInvestigate = command({
  name: 'monitor investigate',
  summary: 'Have Askwatch look for the cause of outages here by itself, within a daily budget',
  group: 'alert',
  right: {
    ...mayManage('change its investigations', 'place'),
    when: ({ switch: turned }) => turned !== undefined,
  },
  input,
  wordsChoose: true,
  examples: [
    '/monitor investigate on',
    '/monitor investigate on tags=shop,eu budget=100k/day after=5m',
    '/monitor investigate off',
    '/monitor investigate',
  ],
  async run(asked, call) {
    const { channels, place } = call;
    const { investigate: before } = await channels.settingsOf(placeKey(place));
    if (asked.switch === 'on') return await turnOn(asked, before, call);
    if ([asked.tags, asked.budget, asked.after].some((value) => value !== undefined)) {
      throw new CommandError(
        'These settings only work with “on”: /monitor investigate on after=5m',
      );
    }
    if (asked.switch === 'off') {
      await channels.change(place, { settings: { investigate: null } });
      const text = 'Press Ask why under an alert to ask for its cause.';
      return toEveryone(textCard('good', 'Investigations turned off', text));
    }
    if (before) return toAsker(await settingCard('info', before, call));
    const text =
      'With them, Askwatch looks for the cause of an outage by itself and posts what it finds in the alert’s thread. Turn them on: /monitor investigate on';
    return toAsker(textCard('info', 'Investigations are off in this channel', text));
  },
});

type InvestigateInput = z.output<typeof input>;

async function turnOn(
  { tags, budget, after }: InvestigateInput,
  before: Investigating = STANDARD,
  call: Call,
) {
  const { channels, channelDefaults, catalog, monitoring, place } = call;
  const { model } = await channelDefaults.of(place);
  if (isOffline(await catalog.chatModel(model))) {
    throw new CommandError(
      'Investigations need a model, and none is connected. Ask your Askwatch admin to connect one. Without a model, Ask why under an alert lists the facts.',
    );
  }
  if (tags) requireTags(tags, await monitoring.list());
  const investigate: Investigating = {
    afterMs: after ?? before.afterMs,
    tokensPerDay: budget === undefined ? before.tokensPerDay : tokensIn(budget),
    tags: tags ?? before.tags,
  };
  await channels.change(place, { settings: { investigate } });
  return toEveryone(await settingCard('good', investigate, call));
}

/** Throws a `CommandError` for anything but tokens a day. */
function tokensIn(text: string): number {
  const budget = readBudget(text);
  if (budget?.per === 'day') return budget.tokens;
  throw new CommandError(
    `I didn't understand the budget “${shortened(text, 40)}”. Write tokens a day, at least 1,000, such as 50k/day.`,
  );
}

async function settingCard(tone: 'good' | 'info', setting: Investigating, call: Call) {
  const used = await tokensToday(call.place, { usageLog: call.usageLog, nowMs: Date.now() });
  return textCard(
    tone,
    'Investigations are on in this channel',
    `${investigatingInWords(setting)} (UTC). Today they have used ${used.toLocaleString('en')}.`,
    'Each result is one message in the alert’s thread. It mentions nobody, and nothing is changed.',
  );
}
