import { z } from 'zod';
import { durationProblem, readDuration } from '../../../contracts/duration.ts';
import { readMention, type SettingsChange } from '../../channels/channel-settings.ts';
import type { HearingChange } from '../../channels/channels.ts';
import { requireTags, taggedInWords, tagsField } from '../../channels/monitor-filter.ts';
import { readHours, zoneIn } from '../../channels/quiet-hours.ts';
import { textCard } from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker, toEveryone } from '../../shared/invocation.ts';
import { hasPlace, placeKey } from '../../shared/place.ts';
import { mayManage } from '../../shared/rights.ts';
import { type Call, command, optionalText } from '../command.ts';

const REMIND = { minMs: 15 * 60_000, maxMs: 24 * 3_600_000 };

const input = z.object({
  switch: z.enum(['on', 'off']).describe('on or off'),
  filter: optionalText(200, 'Only monitors with this text in name or target; default: all'),
  quiet: optionalText(40, 'Hours without new alerts, such as 22:00-07:00; off removes them'),
  zone: optionalText(60, 'Time zone of the quiet hours, such as Europe/Berlin; default: UTC'),
  remind: optionalText(
    20,
    'How often to repeat an unacknowledged outage, 15m to 24h; off stops it',
  ),
  mention: optionalText(
    200,
    'A user group or role to mention when an outage begins; off removes it',
  ),
  tags: tagsField,
  via: optionalText(
    2000,
    'Send these alerts to a webhook at this https address; this channel keeps its own',
  ),
  fallback: optionalText(
    2000,
    'The https address of a webhook that gets alerts while this channel can’t be reached; off removes it',
  ),
});

/** Sets the alerts that this channel receives, and its quiet hours, reminders and mention. */
export const monitorAlerts = command({
  name: 'monitor alerts',
  summary:
    'Turn alerts here on or off, for all monitors or some; set quiet hours, reminders, a mention',
  group: 'alert',
  right: {
    ...mayManage('change its alert settings', 'place'),
    when: ({ quiet, zone, remind, mention, via, fallback }) =>
      [quiet, zone, remind, mention, via, fallback].some((value) => value !== undefined),
  },
  input,
  hasSecret: ({ via, fallback }) => via !== undefined || fallback !== undefined,
  examples: [
    '/monitor alerts on',
    '/monitor alerts on shop',
    '/monitor alerts on tags=shop,eu',
    '/monitor alerts off',
    '/monitor alerts on quiet=22:00-07:00 zone=Europe/Berlin',
    '/monitor alerts on remind=4h',
    '/monitor alerts on shop via=https://hooks.example.com/askwatch',
  ],
  async run(values, call) {
    const { channels, place } = call;
    const { switch: turned, filter: text, tags, via } = values;
    const settings = await settingsIn(values, call);
    const isSet = Object.keys(settings).length > 0 || values.fallback !== undefined;
    if (isSet && turned === 'off') {
      throw new CommandError(
        'Settings only work with “on”. To remove one, set it to off: /monitor alerts on quiet=off. To turn all alerts off: /monitor alerts off',
      );
    }
    const filter = text === undefined && tags === undefined ? undefined : { text, tags };
    // Setting only quiet hours, reminders or a mention keeps the filter.
    const turns = !isSet || filter !== undefined;
    const monitors = tags === undefined ? [] : await call.monitoring.list();
    // A filter whose tag nobody has any more can still be turned off.
    if (turned === 'on') requireTags(tags, monitors);
    const hearing = { on: turned === 'on', filter, monitors };
    const which =
      filter && ` for ${text === undefined ? 'monitors' : `“${text}”`}${taggedInWords(tags)}`;
    if (via !== undefined) {
      if (isSet) throw new CommandError('“via” only goes with a filter or tags.');
      return await changeWebhook(via, { ...hearing, which }, call);
    }
    const fallback = await changeFallback(values, call);
    if (fallback !== undefined) settings.fallback = fallback;
    await channels.change(place, { ...(turns && { hearing }), ...(isSet && { settings }) });
    const always = hasPlace(call.settings.alertPlaces, place);
    const title = turns ? `Alerts ${turned}${which ?? ''}` : 'Alert settings changed';
    const card = textCard('good', title, await channels.describe(place, { always }));
    // Discord shows a command next to a public answer.
    return values.fallback === undefined ? toEveryone(card) : toAsker(card);
  },
});

/** Adds a webhook or changes its filter; without a filter, off removes it. */
async function changeWebhook(
  via: string,
  hearing: HearingChange & { which?: string },
  { channels, webhooks, settings, place: from }: Call,
) {
  const { on, filter, which = '' } = hearing;
  if (!on) {
    const { place, shown } = await webhooks.find(via, from);
    if (filter) await channels.change(place, { hearing });
    else await channels.removeWebhook(placeKey(place));
    const title = filter ? `${shown} gets no alerts${which}` : `${shown} removed`;
    const always = hasPlace(settings.alertPlaces, from);
    return toAsker(textCard('good', title, await channels.describe(from, { always })));
  }
  const title = `Alerts${which} arrive here from now on`;
  const { place, shown } = await webhooks.register(via, { from, title });
  await channels.change(place, { hearing });
  const how = `It has got a first post. To remove it: /monitor alerts off via=${shown}`;
  return toAsker(textCard('good', `${shown} gets alerts${which}`, how));
}

/** The new fallback; `null` removes it. */
async function changeFallback(
  { fallback: text }: AlertsInput,
  { channels, webhooks, place: from, traitsOf }: Call,
): Promise<SettingsChange['fallback']> {
  if (text === undefined) return undefined;
  const { title: insteadOf = from.platform } = traitsOf(from.platform);
  const title = `Alerts arrive here when ${insteadOf} can’t be reached for 2 minutes`;
  const added = isOff(text) ? null : await webhooks.register(text, { from, title, insteadOf });
  const fallback = added && { place: placeKey(added.place), shown: added.shown };
  const { fallback: before } = await channels.settingsOf(placeKey(from));
  if (before && before.place !== fallback?.place) await channels.removeWebhook(before.place);
  return fallback;
}

type AlertsInput = z.output<typeof input>;

/** Throws a `CommandError` for a wrong value. */
async function settingsIn(values: AlertsInput, call: Call): Promise<SettingsChange> {
  const { channels, place } = call;
  const { quiet } = await channels.settingsOf(placeKey(place));
  return {
    ...quietIn(values, quiet),
    ...(values.remind !== undefined && { remindMs: remindIn(values.remind) }),
    ...(values.mention !== undefined && { mention: mentionIn(values.mention, call) }),
  };
}

const isOff = (text: string) => text.toLowerCase() === 'off';

function quietIn({ quiet: hoursText, zone: zoneText }: AlertsInput, now: SettingsChange['quiet']) {
  if (hoursText === undefined && zoneText === undefined) return {};
  if (hoursText !== undefined && isOff(hoursText)) {
    if (zoneText === undefined) return { quiet: null };
    throw new CommandError('“zone” belongs to quiet hours. Leave it out with quiet=off.');
  }
  const zone = zoneText === undefined ? (now?.zone ?? 'UTC') : zoneIn(zoneText);
  const hours = hoursText === undefined ? now : readHours(hoursText);
  if (hours) return { quiet: { ...hours, zone } };
  throw new CommandError(
    hoursText === undefined
      ? '“zone” belongs to quiet hours, and this channel has none. Set both: /monitor alerts on quiet=22:00-07:00 zone=Europe/Berlin'
      : `“quiet” must be two different times of day such as 22:00-07:00, or off, not “${hoursText}”.`,
  );
}

function remindIn(text: string): number | null {
  if (isOff(text)) return null;
  const problem = durationProblem(text, REMIND);
  if (problem === undefined) return readDuration(text) ?? null;
  throw new CommandError(`“remind”: ${problem}, or off to stop it.`);
}

function mentionIn(text: string, call: Call) {
  if (isOff(text)) return null;
  const { mention: groups } = call.traitsOf(call.place.platform);
  if (!groups) throw new CommandError('This platform has no groups to mention.');
  const mention = readMention(text, groups);
  if (mention) return mention;
  throw new CommandError(`“mention” must be ${groups.words}, or off, not “${text}”.`);
}
