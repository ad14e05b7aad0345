import { onTestFinished } from 'vitest';
import { createSender } from '../../../src/bot/alerts/sender.ts';
import type { ReportSchedule, SettingsChange } from '../../../src/bot/channels/channel-settings.ts';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import type { WatchState } from '../../../src/bot/incidents/watch-state.ts';
import { createReporter } from '../../../src/bot/reports/reporter.ts';
import { createReports } from '../../../src/bot/reports/reports.ts';
import type { Messenger } from '../../../src/bot/shared/messenger.ts';
import type { Place } from '../../../src/bot/shared/place.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import { recordingLog } from '../recording-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';
import { createHandClock } from './hand-clock.ts';
import { createLife } from './killable-life.ts';
import { createScriptedPlatform } from './scripted-platform.ts';

/** Report schedules and delivery over a real store and monitoring service, with a manual clock. It doesn't poll or alert. */
export async function openReportWorld(options: {
  service: { url: string; key: string };
  startMs: number;
  folder?: string;
}) {
  const { service, startMs } = options;
  const { log, lines } = recordingLog();
  const folder = options.folder ?? (await temporaryFolder());
  const slack = createScriptedPlatform('slack');
  const clock = createHandClock(startMs);
  const monitoring = createMonitoringClient({ baseUrl: service.url, apiKey: service.key });
  const store = await openTestStore({ folder, log });
  const durable = await openWatchState(store);
  const channels = createChannels(store);
  await durable.update(
    (watching) =>
      watching ??
      applyPoll(undefined, [], { nowMs: startMs, newId: () => 'none', placesFor: () => [] })
        .watching,
  );
  const lives: Array<{ stop(): Promise<void> }> = [];
  let closing: Promise<void> | undefined;
  async function end() {
    await Promise.all(lives.map((life) => life.stop()));
    await monitoring.close();
    await store.close();
  }
  function close() {
    closing ??= end();
    return closing;
  }
  onTestFinished(close);

  return {
    close,
    ...{ slack, clock, channels, lines, state: durable },
    async set(place: Place, report: ReportSchedule | null, more: SettingsChange = {}) {
      await channels.change(place, { settings: { report, ...more } });
    },
    /** One run of the program; `killAt` as `createLife` has it, 0 for never. */
    live(killAt = 0, messenger: Messenger = slack) {
      const life = createLife(killAt);
      const { step } = life;
      const state: Pick<WatchState, 'current' | 'update'> = {
        current: durable.current,
        update: (change) => step(() => durable.update(change)),
      };
      const settingsOf = (place: string) => step(() => channels.settingsOf(place));
      const timing = { clock, random: () => 0.5, log };
      const sender = createSender({ state, alertPlaces: [], settingsOf, ...timing });
      const made = createReports({ monitoring, channels, alertPlaces: [] });
      const reporter = createReporter({
        state,
        channels: { settingsOf, schedules: () => step(() => channels.schedules()) },
        reports: {
          round() {
            const round = made.round();
            return { of: (...asked) => step(() => round.of(...asked)) };
          },
        },
        onChange: sender.wake,
        ...timing,
      });
      sender.start([{ ...messenger, post: (post) => step(() => messenger.post(post)) }]);
      reporter.start();
      let stopped: Promise<unknown> | undefined;
      const running = {
        isDead: () => life.dead,
        async stop() {
          // The dead never come back from what they wait for.
          if (life.dead) return;
          stopped ??= Promise.all([reporter.stop(), sender.stop()]);
          await stopped;
        },
      };
      lives.push(running);
      return running;
    },
  };
}
