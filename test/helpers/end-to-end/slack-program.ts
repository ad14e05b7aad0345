import { expect } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { eventually } from '../eventually.ts';

export const socketMode = (slack: SlackFake) => ({
  SLACK_BOT_TOKEN: slack.botToken,
  SLACK_APP_TOKEN: slack.appToken,
  SLACK_API_URL: slack.apiUrl,
});

export const shown = (slack: SlackFake, channel = CHANNEL) =>
  slack.messages(channel).map(shownText);

/** The finished replies of a thread, waited for. */
export async function replies(slack: SlackFake, thread: string, count: number): Promise<string[]> {
  return await eventually(() => {
    const texts = slack.thread(CHANNEL, thread).map(shownText);
    const busy = texts.some((text) => /Thinking…|Writing…/.test(text));
    return !busy && texts.length === count && texts;
  });
}

export function expectNoBreach(slack: SlackFake) {
  expect(slack.unhandled).toEqual([]);
  expect(slack.acks.filter(({ ms }) => ms === undefined)).toEqual([]);
}
