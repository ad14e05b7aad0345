import { onTestFinished } from 'vitest';
import { createSender } from '../../src/bot/alerts/sender.ts';
import { nextFor } from '../../src/bot/incidents/delivery.ts';
import type { Platform } from '../../src/bot/platform.ts';
import { placeKey } from '../../src/bot/shared/place.ts';
import { applyPoll } from '../../src/bot/watch/apply-poll.ts';
import { openWatchState } from '../../src/bot/watch/watch-store.ts';
import type { Monitor } from '../../src/contracts/monitoring.ts';
import { createHandClock } from './bot/hand-clock.ts';
import { eventually } from './eventually.ts';
import { recordingLog } from './recording-log.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { openTestStore } from './test-store.ts';

/** Alerts in a channel of a real platform, from the poll on, with a manual clock for stories of minutes. */
export async function startAlertStory(platform: Platform, channel: string) {
  const { log } = recordingLog();
  const folder = await temporaryFolder();
  const place = { platform: platform.name, channel };
  const clock = createHandClock(Date.now());
  const statuses = new Map<string, string>();

  async function live() {
    const store = await openTestStore({ folder, log });
    const state = await openWatchState(store);
    const sender = createSender({ state, alertPlaces: [place], clock, random: () => 0.5, log });
    sender.start([platform]);
    return { store, state, sender };
  }
  let life = await live();

  async function pollNow() {
    const monitors = [...statuses].map(
      ([name, status]): Monitor => ({
        ...{ id: name, name, check_type: 'HTTP', target: `https://${name}.example` },
        ...{ status, interval_seconds: 60 },
      }),
    );
    const around = {
      nowMs: clock.nowMs(),
      newId: () => crypto.randomUUID(),
      placesFor: () => [placeKey(place)],
    };
    const { state, sender } = life;
    await state.update((watching) => applyPoll(watching, monitors, around).watching);
    sender.wake();
    await eventually(() => !nextFor(state.current(), placeKey(place), clock.nowMs()));
  }

  async function stop() {
    await life.sender.stop();
    await life.store.close();
  }
  onTestFinished(stop);

  return {
    /** Sets statuses, polls, and waits until the platform has received or refused the alerts. */
    async see(changes: Record<string, string>) {
      for (const [name, status] of Object.entries(changes)) statuses.set(name, status);
      await pollNow();
    },
    /** Lets time go by, with a poll a minute. */
    async passMinutes(count: number) {
      for (let minute = 0; minute < count; minute += 1) {
        clock.goOn(60_000);
        await pollNow();
      }
    },
    async restart() {
      await stop();
      life = await live();
    },
  };
}

/**
 * The story of a channel that is closed while one outage ends and another begins, and is open again after a restart: one is
 * told before, and two at the end.
 */
export async function closeAndOpen(
  platform: Platform,
  channel: string,
  { close, open }: { close(): void | Promise<void>; open(): void | Promise<void> },
): Promise<void> {
  const { see, passMinutes, restart } = await startAlertStory(platform, channel);
  await see({ Shop: 'UP', Blog: 'UP', Mail: 'UP', News: 'UP' });
  await see({ Shop: 'DOWN' });
  await passMinutes(10);
  await close();
  await see({ Blog: 'DOWN', News: 'DOWN' });
  await passMinutes(2);
  await see({ Shop: 'UP', Mail: 'DOWN' });
  await passMinutes(2);
  await see({ News: 'UP' });
  await passMinutes(2);
  await restart();
  await open();
  await passMinutes(11);
}
