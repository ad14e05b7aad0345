import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import type { Message } from '../../fakes/slack/workspace.ts';
import {
  type BedOptions,
  testEveryButton,
  testOrder,
  testSnoozeOfSeveral,
} from '../../helpers/every-button.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

const PEOPLE = ['U00ADA', 'U00GRACE'] as const;

/** As it is typed. */
const lineOf = ({ question, monitor, ...named }: Record<string, unknown>) =>
  [...Object.entries(named).map(([name, value]) => `${name}=${value}`), question ?? monitor]
    .filter((word) => word !== undefined)
    .join(' ');

const open = async ({ folderFor, ...options }: BedOptions) => {
  const fake = await startSlack();
  const place = { platform: 'slack' as const, channel: CHANNEL };
  const alertPlaces = [place];
  const folder = await folderFor?.(place);
  const settings = { ...options.settings, alertPlaces };
  const { slack, bot } = await runSlack({
    fake,
    drainMs: 40_000,
    bot: { ...options, settings, ...(folder && { folder }) },
  });
  const { messages, ephemerals } = fake.channel(CHANNEL);
  return {
    ...{ provider: bot.provider, service: bot.service },
    type(command: string, values: Record<string, unknown>) {
      const [name, ...words] = command.split(' ');
      void fake.slash(`/${name}`, [...words, lineOf(values)].join(' ').trim());
    },
    showing: (label: string) =>
      [...messages, ...ephemerals].findLast((message) => labelsOf(message).includes(label)),
    press: ({ ts }: Message, label: string, by: 0 | 1) =>
      void fake.press(label, { ts, user: PEOPLE[by] }),
    // A file below an answer is no message of its own elsewhere.
    texts: () => ({
      everybody: messages.filter(({ files }) => !files).map(shownText),
      alone: ephemerals.map(shownText),
    }),
    stop: () => slack.stop(),
    askBelow: (text: string) => void fake.mention(text, { threadTs: messages[0]?.ts ?? '' }),
  };
};

testEveryButton(open);
testOrder(open);
testSnoozeOfSeveral(open);
