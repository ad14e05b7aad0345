import { z } from 'zod';
import { durationProblem, readDurationAt } from '../../../contracts/duration.ts';
import {
  type Escalation,
  escalationInWords,
  readMention,
} from '../../channels/channel-settings.ts';
import { textCard } from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker, toEveryoneBy } from '../../shared/invocation.ts';
import { placeKey } from '../../shared/place.ts';
import { hasRight, mayManage } from '../../shared/rights.ts';
import { shortened } from '../../shared/text-format.ts';
import { type Call, command, optionalText } from '../command.ts';

const AFTER = { minMs: 60_000, maxMs: 24 * 3_600_000 };
const EXAMPLE = 'Example: /monitor escalate after 10m to #oncall @person.';

const input = z.object({
  after: optionalText(
    400,
    'How long an outage may go unacknowledged, 1m to 24h; off ends it; if omitted, shows the setting',
  ),
  to: optionalText(200, 'The channel that gets the alert then; default: this one'),
  mention: optionalText(200, 'The person, user group or role to mention then'),
});

type EscalateInput = z.output<typeof input>;

export const monitorEscalate = command({
  name: 'monitor escalate',
  summary: 'Post to another channel or mention someone if nobody acknowledges an outage in time',
  group: 'alert',
  right: { ...mayManage('set up escalation', 'place'), when: (values) => isSetting(values) },
  input,
  examples: [
    '/monitor escalate after 10m to #oncall @person',
    '/monitor escalate after 30m to #oncall',
    '/monitor escalate after 10m @person',
    '/monitor escalate off',
    '/monitor escalate',
  ],
  async run(values, call) {
    const { channels, place } = call;
    const now = (await channels.settingsOf(placeKey(place))).escalation;
    if (!isSetting(values)) return toAsker(escalationCard('info', now));
    const escalation = await escalationIn(values, call);
    await channels.change(place, { settings: { escalation } });
    return toEveryoneBy(call.person, escalationCard('good', escalation ?? undefined));
  },
});

const isSetting = ({ after, to, mention }: EscalateInput) =>
  [after, to, mention].some((value) => value !== undefined);

/** True for a line in which platforms keep references to channels and people instead of writing their names. */
export const namesPeople = (line: string) => /^\s*\/?monitor\s+escalate\s/i.test(line);

/** A word, or a reference that a platform wrote between < and >. */
const WORDS = /<[^<>]*>|[^\s<>]+/g;

/** Finds out what each word is, because a typed line may be in the first input. */
async function escalationIn(values: EscalateInput, call: Call): Promise<Escalation | null> {
  const traits = call.traitsOf(call.place.platform);
  const typed = [values.after, values.to, values.mention].join(' ').match(WORDS) ?? [];
  const words = typed.filter((word) => !/^(after|to|and|in|mention)$/i.test(word));
  const [first] = words;
  if (first?.toLowerCase() === 'off' && words.length === 1) return null;
  let afterMs: number | undefined;
  let channel: { id: string; name?: string } | undefined;
  let mention: Escalation['mention'];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const duration = afterMs === undefined ? readDurationAt(words, at) : undefined;
    const named = traits.channel?.pattern.exec(word)?.groups;
    const person = traits.person?.pattern.exec(word)?.groups;
    const group = traits.mention && readMention(word, traits.mention);
    if (duration) {
      const text = words.slice(at, at + duration.count).join(' ');
      const problem = durationProblem(text, AFTER);
      if (problem !== undefined) throw new CommandError(`${problem}.`);
      afterMs = duration.ms;
      at += duration.count - 1;
    } else if (named?.id !== undefined && !channel) channel = { id: named.id, name: named.name };
    else if (person?.id !== undefined && !mention) {
      const name = person.name === undefined ? {} : { name: `@${person.name.replace(/^@/, '')}` };
      mention = { id: person.id, isPerson: true, ...name };
    } else if (group && !mention) mention = group;
    else throw new CommandError(notUnderstood(word));
  }
  if (afterMs === undefined) {
    throw new CommandError(`Say how long to wait, 1m to 24h. ${EXAMPLE}`);
  }
  const to = channel && (await placeOf(channel.id, call));
  const isHere = to === undefined || to === placeKey(call.place);
  if (isHere && !mention) {
    throw new CommandError(
      to === undefined
        ? `Say who gets the escalation: another channel, a person, or both. ${EXAMPLE}`
        : `That is this channel, which already has the outage's message. Choose another one, or a person to mention here. ${EXAMPLE}`,
    );
  }
  const name = channel?.name === undefined ? undefined : `#${channel.name}`;
  return {
    afterMs,
    place: isHere ? undefined : to,
    placeName: isHere ? undefined : name,
    mention,
  };
}

const notUnderstood = (word: string) =>
  `I didn't understand “${shortened(word, 60)}”. Pick the channel after # and the person after @ from the list. ${EXAMPLE}`;

/** The key of a channel. Throws a `CommandError` if the person can't have alerts sent there. */
async function placeOf(id: string, { person, place, settings }: Call): Promise<string> {
  const found = await person.channelOf?.(id);
  if (!found) {
    throw new CommandError(
      "I can't find that channel. Choose one in this workspace or server that Askwatch is a member of.",
    );
  }
  const to = { platform: place.platform, channel: found.channel };
  if (placeKey(to) === placeKey(place) || found.mayManage) return placeKey(to);
  if (await hasRight(mayManage(''), { person, place, settings })) return placeKey(to);
  throw new CommandError(
    'Only people who manage that channel, or all channels, may send alerts there. Ask one of them, or mention only a person here.',
  );
}

function escalationCard(tone: 'good' | 'info', now: Escalation | undefined) {
  if (!now) {
    return textCard(
      tone,
      'No escalation is set up for this channel',
      'Set one up: /monitor escalate after 10m to #oncall @person',
    );
  }
  return textCard(
    tone,
    escalationInWords(now),
    'Sent once per outage, even in quiet hours. Not sent if someone acknowledges it or it ends in time, or if the monitor is only degraded. A snoozed outage waits until its snooze ends.',
    ...(now.place === undefined ? [] : ['Askwatch must be a member of that channel.']),
  );
}
