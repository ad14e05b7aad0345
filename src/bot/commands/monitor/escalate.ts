import { z } from 'zod';
import {
  type Escalation,
  escalationInWords,
  readInterval,
  readMention,
} from '../../channels/channel-settings.ts';
import { textCard } from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker, toEveryone } from '../../shared/invocation.ts';
import { placeKey } from '../../shared/place.ts';
import { hasRight } from '../../shared/rights.ts';
import { shortened } from '../../shared/text-format.ts';
import { type Call, command, optionalText } from '../command.ts';

const MIN_AFTER_MS = 60_000;

const input = z.object({
  after: optionalText(
    400,
    'How long it may stay unacknowledged, 1m to 24h; off ends it; how it stands when left out',
  ),
  to: optionalText(200, 'The channel that is told then; this one when left out'),
  mention: optionalText(200, 'The person, user group or role that is called then'),
});

type Asked = z.output<typeof input>;

/** `/monitor escalate`: who is told of an outage that nobody acknowledges in time. */
export const monitorEscalate = command({
  name: 'monitor escalate',
  summary: 'Tell another channel, or call somebody, when nobody acknowledges an outage in time',
  right: {
    setting: 'mayManage',
    over: 'place',
    to: 'set who is told of what nobody acknowledges',
    when: (asked) => isGiven(asked),
  },
  input,
  examples: [
    '/monitor escalate after 10m to #oncall @person',
    '/monitor escalate after 30m to #oncall',
    '/monitor escalate after 10m @person',
    '/monitor escalate off',
    '/monitor escalate',
  ],
  async run(asked, call) {
    const { channels, place } = call;
    const now = (await channels.settingsOf(placeKey(place))).escalation;
    if (!isGiven(asked)) return toAsker(standingCard('info', now));
    const escalation = await escalationIn(asked, call);
    await channels.change(place, { settings: { escalation } });
    const card = standingCard('good', escalation ?? undefined);
    return toEveryone({ ...card, footer: `By ${shortened(call.person.name, 80)}` });
  },
});

const isGiven = ({ after, to, mention }: Asked) =>
  [after, to, mention].some((value) => value !== undefined);

/**
 * Whether a line is this command: platforms that write names in the place of the channels and people somebody chose leave these
 * as they are in it, since here they are what is asked for.
 */
export const namesPeople = (line: string) => /^\s*\/?monitor\s+escalate\s/i.test(line);

/** Words of a line, each of them or something that a platform wrote between < and >. */
const WORDS = /<[^<>]*>|[^\s<>]+/g;

/** Which each word is: all of a typed line may stand in the first input. */
async function escalationIn(asked: Asked, call: Call): Promise<Escalation | null> {
  const traits = call.traitsOf(call.place.platform);
  const given = [asked.after, asked.to, asked.mention].join(' ').match(WORDS) ?? [];
  const words = given.filter((word) => !/^(after|to|and|in|mention)$/i.test(word));
  const [first] = words;
  if (first?.toLowerCase() === 'off' && words.length === 1) return null;
  let afterMs: number | undefined;
  let channel: { id: string; name?: string | undefined } | undefined;
  let mention: Escalation['mention'];
  for (const word of words) {
    const ms = readInterval(word, MIN_AFTER_MS);
    const named = traits.channel?.pattern.exec(word)?.groups;
    const person = traits.person?.pattern.exec(word)?.groups;
    const group = traits.mention && readMention(word, traits.mention);
    if (ms !== undefined && afterMs === undefined) afterMs = ms;
    else if (named?.id !== undefined && !channel) channel = { id: named.id, name: named.name };
    else if (person?.id !== undefined && !mention) {
      const name = person.name === undefined ? {} : { name: `@${person.name.replace(/^@/, '')}` };
      mention = { id: person.id, isPerson: true, ...name };
    } else if (group && !mention) mention = group;
    else throw new CommandError(notUnderstood(word));
  }
  if (afterMs === undefined) {
    throw new CommandError(
      'Say after how long, 1m to 24h: /monitor escalate after 10m to #oncall @person.',
    );
  }
  const to = channel && (await placeOf(channel.id, call));
  // The message of the outage stands there already.
  const isHere = to === undefined || to === placeKey(call.place);
  if (isHere && !mention) {
    throw new CommandError(
      'Say whom to tell: another channel, a person, or both: /monitor escalate after 10m to #oncall @person.',
    );
  }
  return {
    afterMs,
    ...(!isHere && { place: to }),
    ...(!isHere && channel?.name !== undefined && { placeName: `#${channel.name}` }),
    ...(mention && { mention }),
  };
}

const notUnderstood = (word: string) =>
  `I do not know what to do with “${shortened(word, 60)}”. Choose channel and person from the list that is shown after # and @, and give one time from 1m to 24h: /monitor escalate after 10m to #oncall @person.`;

/** The place that a channel is, for those who may have alerts told there; throws `CommandError` for all others. */
async function placeOf(id: string, { person, place, settings }: Call): Promise<string> {
  const found = await person.channelOf?.(id);
  if (!found) {
    throw new CommandError(
      'That channel cannot be found from here. Choose one of this workspace or server that Askwatch is in.',
    );
  }
  const to = { platform: place.platform, channel: found.channel };
  const right = { setting: 'mayManage', over: 'shared', to: '' } as const;
  if (placeKey(to) === placeKey(place) || found.mayManage) return placeKey(to);
  if (await hasRight(right, { person, place, settings })) return placeKey(to);
  throw new CommandError(
    'Only those who manage that channel, or all of them, may have alerts told there. Ask one of them, or name only a person to be called here.',
  );
}

function standingCard(tone: 'good' | 'info', now: Escalation | undefined) {
  if (!now) {
    return textCard(
      tone,
      'Nobody else is told of what nobody acknowledges here',
      'Set who is: /monitor escalate after 10m to #oncall @person',
    );
  }
  return textCard(
    tone,
    escalationInWords(now),
    'It is told once, also in quiet hours there. What is acknowledged or over by then is not, what is snoozed waits for the end of that, and what is only degraded is not told at all.',
    ...(now.place === undefined ? [] : ['Askwatch must be a member of that channel.']),
  );
}
