import { onTestFinished } from 'vitest';
import { createSender } from '../../../src/bot/alerts/sender.ts';
import type { SettingsChange } from '../../../src/bot/channels/channel-settings.ts';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import { quietUntilMs } from '../../../src/bot/channels/quiet-hours.ts';
import { nextFor } from '../../../src/bot/incidents/delivery.ts';
import { createIncidents } from '../../../src/bot/incidents/incident-service.ts';
import { withoutExpiredSnoozes } from '../../../src/bot/incidents/snoozes.ts';
import type { Watching, WatchState } from '../../../src/bot/incidents/watch-state.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { eventually } from '../eventually.ts';
import { long } from '../long.ts';
import { recordingLog } from '../recording-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';
import { createHandClock } from './hand-clock.ts';
import { createLife } from './killable-life.ts';
import { createScriptedPlatform } from './scripted-platform.ts';

export const OPS = { platform: 'slack', channel: 'C1' } as const;
export const DEV = { platform: 'slack', channel: 'C2' } as const;
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

type Place = typeof OPS | typeof DEV;

/** Channels, poller and delivery over a real store, with a manual clock from `startsAt`; polls come as `untilNextLookMs` says. */
export async function openAlertWorld(options: {
  startsAt: string;
  places?: readonly Place[];
  /** Channels that receive alerts; all by default. */
  hearing?: readonly Place[];
  /** Ends expired snoozes, as the poller does. */
  endsSnoozes?: boolean;
  intervalSeconds?: number;
  /** Polls every few seconds in place of minutes. */
  pollsFast?: boolean;
}) {
  const { startsAt, places = [OPS], intervalSeconds = 60, pollsFast } = options;
  const { hearing = places } = options;
  const { log, lines: logged } = recordingLog();
  const folder = await temporaryFolder();
  const slack = createScriptedPlatform('slack');
  const webhook = createScriptedPlatform('webhook');
  const postedAtMs = new Map<string, number>();
  const statuses = new Map<string, string>();
  const clock = createHandClock(Date.parse(startsAt));
  let made = 0;

  async function open() {
    const store = await openTestStore({ folder, log });
    return { store, durable: await openWatchState(store), channels: createChannels(store) };
  }

  function live({ store, durable, channels }: Awaited<ReturnType<typeof open>>) {
    const current = createLife();
    const { step, over } = current;
    const state: Pick<WatchState, 'current' | 'update'> = {
      current: durable.current,
      update: (change) => step(() => durable.update(change)),
    };
    const settingsOf = (place: string) => step(() => channels.settingsOf(place));
    const { webhookAt } = channels;
    const alerting = { alertPlaces: places, settingsOf, webhookAt, clock, random: () => 0.5, log };
    const sender = createSender({ state, ...alerting });
    sender.start([
      {
        ...slack,
        post: (post) =>
          step(() => {
            if (!postedAtMs.has(post.id)) postedAtMs.set(post.id, clock.nowMs());
            return slack.post(post);
          }),
        update: (...update) => step(() => slack.update(...update)),
        announce: (line) => step(() => slack.announce(line)),
        linkTo: async (channel, { message }) => `https://slack.example/${channel}/${message}`,
      },
      {
        ...webhook,
        post: (post) => step(() => webhook.post(post)),
        update: (...update) => step(() => webhook.update(...update)),
        announce: (line) => step(() => webhook.announce(line)),
      },
    ]);
    const incidents = createIncidents({ state, nowMs: clock.nowMs, onChange: sender.wake });
    const { killIn } = current;
    const isDead = () => current.dead;
    return { store, durable, state, channels, sender, incidents, over, killIn, isDead };
  }
  let life = live(await open());

  async function isIdle() {
    const inAlerts = life.state.current()?.alerts.flatMap(({ deliveries }) => deliveries) ?? [];
    for (const place of new Set([...places.map(placeKey), ...inAlerts.map((one) => one.place)])) {
      const { quiet } = await life.channels.settingsOf(place);
      const untilMs = quiet && quietUntilMs(quiet, clock.nowMs());
      const work = nextFor(life.state.current(), place, clock.nowMs(), untilMs);
      if (work && work.delivery.nextTryAtMs <= clock.nowMs()) return false;
    }
    return true;
  }

  async function pollNow() {
    const monitors = [...statuses].map(
      ([id, status]): Monitor => ({
        ...{ id, name: `Name of ${id}`, check_type: 'HTTP', target: `https://${id}.example` },
        ...{ status, interval_seconds: intervalSeconds },
        ...(status === 'DOWN' && { status_reason: `answered 503 to ${id}` }),
      }),
    );
    const around = {
      nowMs: clock.nowMs(),
      newId: () => `id-${++made}`,
      placesFor: () => hearing.map(placeKey),
      settingsOf: await life.channels.settings(),
    };
    const noted = life.state.update((watching) => {
      const current = options.endsSnoozes
        ? withoutExpiredSnoozes(watching, around.nowMs)
        : watching;
      return applyPoll(current, monitors, around).watching;
    });
    await Promise.race([noted, life.over]);
    await send();
    if (!life.isDead()) return;
    life = live(life);
    await pollNow();
  }

  /** Sends everything that is due. */
  async function send() {
    life.sender.wake();
    await eventually(async () => life.isDead() || (await isIdle()), { everyMs: 1 });
  }

  async function stop() {
    await life.sender.stop();
    await life.store.close();
  }
  onTestFinished(stop);

  return {
    slack,
    webhook,
    nowMs: clock.nowMs,
    alerts: () => life.state.current()?.alerts ?? [],
    incidents: () => life.incidents,
    async set(settings: SettingsChange, place: Place = OPS) {
      await life.channels.change(place, { settings });
    },
    /** Gives the first channel a fallback. */
    async setFallback() {
      const place = { platform: 'webhook', channel: 'hooks.example/1' };
      const [from, shown] = [placeKey(OPS), 'https://hooks.example/…'];
      const settings = { fallback: { place: placeKey(place), shown } };
      await life.channels.change(OPS, { settings });
      const webhook = { from, shown, sealed: '', insteadOf: 'Slack' };
      await life.channels.change(place, { webhook });
    },
    /** Sets statuses and looks; `undefined` takes a monitor out of the list. */
    async see(changes: Record<string, string | undefined>) {
      for (const [id, status] of Object.entries(changes)) {
        if (status === undefined) statuses.delete(id);
        else statuses.set(id, status);
      }
      await pollNow();
    },
    /** Lets time go by. */
    async pass(ms: number) {
      const endMs = clock.nowMs() + ms;
      const fastMs = (long || ms <= MINUTE ? 5 : 15) * SECOND;
      while (clock.nowMs() < endMs) {
        const leftMs = endMs - clock.nowMs();
        clock.goOn(pollsFast ? Math.min(fastMs, leftMs) : untilNextPollMs(clock.nowMs(), leftMs));
        await pollNow();
      }
    },
    /** Time goes by while the program does not run. */
    async sleep(ms: number) {
      await stop();
      clock.goOn(ms);
      life = live(await open());
      await pollNow();
    },
    /** Kills the program at its nth step from now, after its effect when n is odd, and starts it again. */
    kill: (n: number) => life.killIn(n),
    /** Changes what is watched by something else than a poll. */
    async change(make: (watching: Watching | undefined) => Watching | undefined) {
      await life.state.update(make);
      await send();
    },
    logged,
    titles: (place: Place = OPS) =>
      slack.messages
        .filter(({ channel }) => channel === place.channel)
        .map(({ card }) => card.title),
    /** When each message was posted, oldest first, in minutes since the start. */
    posted: () =>
      slack.messages.map(({ id }) => ((postedAtMs.get(id) ?? 0) - Date.parse(startsAt)) / MINUTE),
    /** Lines under each message, oldest first. */
    lines: () => slack.messages.map(({ lines }) => [...lines.values()]),
  };
}

/**
 * A minute. Early in a long wait it is the time to the next ten minutes of the clock, unless full counts are wanted: most polls
 * of a night see nothing, and those at its end show whether something comes a minute too soon or too late.
 */
function untilNextPollMs(nowMs: number, leftMs: number): number {
  if (long || leftMs <= 20 * MINUTE) return Math.min(leftMs, MINUTE);
  return 10 * MINUTE - (nowMs % (10 * MINUTE));
}

export type AlertWorld = Awaited<ReturnType<typeof openAlertWorld>>;
