import { z } from 'zod';
import { CommandError } from '../shared/errors.ts';
import { hasPlace } from '../shared/place.ts';
import { asOf, isoTime, tool } from './tool.ts';

export const getChannelAlerts = tool({
  name: 'get_channel_alerts',
  title: "Show this channel's alert settings",
  description: 'Shows which alerts this channel receives, quiet hours, reminders and mentions.',
  ofPlace: true,
  input: z.object({}),
  output: z.object({
    as_of: z.string(),
    /** Settings in sentences. */
    hears: z.string(),
    /** The operator sends every alert to this channel, too. */
    hears_every_alert: z.boolean(),
  }),
  what: () => "this channel's alert settings",
  account: ({ as_of }) => ({ found: asOf(Date.parse(as_of)) }),
  async run(_input, { channels, alertPlaces, place, nowMs }) {
    if (!place) throw new CommandError('There is no channel here.');
    const always = hasPlace(alertPlaces, place);
    return {
      as_of: isoTime(nowMs),
      hears: await channels.describe(place, { always }),
      hears_every_alert: always,
    };
  },
});
