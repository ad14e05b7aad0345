import { expect, onTestFinished } from 'vitest';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { eventually } from '../eventually.ts';
import type { AtEnd } from '../temporary-folder.ts';

export const socketMode = (slack: SlackFake) => ({
  SLACK_BOT_TOKEN: slack.botToken,
  SLACK_APP_TOKEN: slack.appToken,
  SLACK_API_URL: slack.apiUrl,
});

/** A model behind the gateway's contract. */
export async function startModel(atEnd: AtEnd = onTestFinished) {
  const model = await startModelProvider();
  atEnd(() => model.close());
  return { model, env: { GATEWAY_BASE_URL: model.url, GATEWAY_API_KEY: model.apiKey } };
}

/** A monitoring service whose monitors' statuses the test sets; alerts go to the channel. */
export async function startWatched(atEnd: AtEnd) {
  const service = await startMonitoringService({ limit: false });
  atEnd(() => service.close());
  const env = {
    MONITORING_BASE_URL: service.url,
    MONITORING_API_KEY: service.apiKey,
    ALERT_CHANNELS: `slack:${CHANNEL}`,
    ALERT_POLL_SECONDS: '1',
  };
  return { service, env };
}

export const shown = (slack: SlackFake, channel = CHANNEL) =>
  slack.messages(channel).map(shownText);
export const waitFor = <T>(condition: () => T) => eventually(condition, { withinMs: 90_000 });

/** The finished replies of a thread, waited for. */
export async function replies(slack: SlackFake, thread: string, count: number): Promise<string[]> {
  return await waitFor(() => {
    const texts = slack.thread(CHANNEL, thread).map(shownText);
    const busy = texts.some((text) => /Thinking…|Writing…/.test(text));
    return !busy && texts.length === count && texts;
  });
}

export function expectNoBreach(slack: SlackFake) {
  expect(slack.unhandled).toEqual([]);
  expect(slack.acks.filter(({ ms }) => ms === undefined)).toEqual([]);
}
