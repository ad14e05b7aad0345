import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { expect } from 'vitest';
import type { SlackFake } from '../../fakes/slack/slack.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import {
  type AlertMessage,
  CLEAN,
  goesOn,
  judge,
  type WatchedMonitor,
} from '../end-to-end/alert-verdict.ts';
import { startAskwatch } from '../end-to-end/askwatch-process.ts';
import { expectNoBreach } from '../end-to-end/slack-program.ts';
import { slackStorm } from '../end-to-end/slack-storm.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../postgres/server.ts';
import { createRandom } from '../random.ts';
import { seed } from '../seed.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { startAlertmanager, type ToldAlert } from './real-alertmanager.ts';
import { startBlackbox } from './real-blackbox.ts';
import { startWebhookRelay } from './webhook-relay.ts';

/** Outages of one site in a quarter of an hour. With more, the bot reports it as flapping. */
const MAX_OUTAGES = 2;

/** Number of alerts in a group. Alertmanager sends changes within a group in one delivery. */
const GROUP = 5;

/** Addresses that are probed at a time, and how long a rule waits between two rounds. */
const TOGETHER = 5;
const ROUND_MS = 1_000;

/** Time after which Alertmanager resolves an alert that Prometheus doesn't repeat. */
const LEASE_MS = 120_000;

/** A site, the alert about it, and what truly became of it. */
interface WatchedSite extends WatchedMonitor {
  /** Alert of the current or latest outage; absent before the first. */
  alert?: ToldAlert;
}

/** Size of the storm: sites, duration and kills. */
export interface StormSize {
  /** Number of alerts for each channel, which has its own intake. Channels with many get some of them grouped. */
  teams: readonly number[];
  lastsMs: number;
  /** It is killed once in each such time, at any moment of it. */
  killEveryMs: number;
}

/**
 * A real Alertmanager delivers alerts about sites that a real blackbox_exporter finds down and up, while the program is killed with -9
 * repeatedly. Expects every outage to be posted once, in order, and the final messages to be true.
 */
export async function alertmanagerStorm(slack: SlackFake, size: StormSize): Promise<void> {
  const random = createRandom(seed());
  const upTo = (count: number) => Math.floor(random() * count);
  const platform = slackStorm(slack);
  const port = await freePort();
  const options = {
    dataDir: await temporaryFolder(),
    env: {
      ...platform.env,
      ...{ PORT: String(port), WHO_MAY_MANAGE: 'everyone', LOG_LEVEL: 'error' },
    },
  };
  let life = await startAskwatch(options);
  const teams = size.teams.map((alerts, team) => ({
    ...{ team: String(team), alerts },
    channel: platform.addChannel(`team${team}`),
  }));
  const relay = await startWebhookRelay(() => `http://127.0.0.1:${port}`, random);
  const receivers: Array<{ name: string; url: string }> = [];
  for (const { team, channel } of teams) {
    receivers.push({ name: team, url: relay.url + (await hookPath(slack, channel)) });
  }
  const alertmanager = await startAlertmanager({ config: configOf(receivers) });
  const blackbox = await startBlackbox();
  const down = new Set<string>();
  const sites = await startWebTarget((request, response) => {
    response.writeHead(down.has(request.url ?? '') ? 503 : 200).end();
  });
  const watched = teams.flatMap(({ channel, alerts }, team) =>
    Array.from({ length: alerts }, (_, at): WatchedSite => {
      const name = `Site${team}x${at}x`;
      const unseen = { outages: 0, isDown: false, changedAt: 0 };
      return { id: name, name, team, channels: [channel], ...unseen };
    }),
  );

  /** Returns true if Askwatch has acknowledged the present state of a site. */
  function isTold({ name, isDown, alert, outages }: WatchedSite): boolean {
    if (outages === 0) return true;
    const heard = relay.acknowledged.get(name);
    if (!alert || !heard || heard.startsAtMs !== Date.parse(alert.startsAt)) return false;
    return heard.status === (isDown ? 'firing' : 'resolved');
  }
  const turnOver = (site: WatchedSite) => {
    site.isDown = !site.isDown;
    if (site.isDown) {
      site.outages += 1;
      delete site.alert;
    }
    if (site.isDown) down.add(`/${site.name}`);
    else down.delete(`/${site.name}`);
  };

  /** Evaluates the rule as Prometheus does: asks the exporter and sends alerts that fire or are resolved. */
  async function evaluate() {
    for (let from = 0; from < watched.length; from += TOGETHER) {
      await Promise.all(
        watched.slice(from, from + TOGETHER).map(async (site) => {
          const wasDown = site.isDown;
          const succeeds = await blackbox.succeeds(`${sites.url}/${site.name}`);
          if (site.isDown !== wasDown || site.outages === 0) return;
          const nowMs = Date.now();
          const fires = !succeeds;
          if (!site.alert && !fires) return;
          site.alert ??= alertOf(site, nowMs);
          const isOver = Date.parse(site.alert.endsAt) <= nowMs;
          // The lease of one that fires; the end of one that is over stays as it is.
          if (fires) site.alert.endsAt = utc(nowMs + LEASE_MS);
          else if (!isOver) site.alert.endsAt = utc(nowMs);
        }),
      );
    }
    const alerts = watched.flatMap(({ alert }) => alert ?? []);
    if (alerts.length > 0) await alertmanager.tell(alerts);
  }

  let isRuling = true;
  const ruling = (async () => {
    while (isRuling) {
      await evaluate();
      await pause(ROUND_MS);
    }
  })();
  // The caller that awaits it gets its error.
  ruling.catch(() => {});

  let kills = 0;
  async function killAndStart() {
    await life.kill();
    kills += 1;
    platform.killed();
    // Requests already sent are read before the program starts again.
    for (let turns = 0; turns < 10; turns += 1) await turn();
    life = await startAskwatch(options);
  }

  const verdict = () => ({ ...judge(platform, watched), outOfOrder: outOfOrder() });
  const outOfOrder = () =>
    teams.flatMap(({ channel }) => platform.alerts(channel).filter(isOutOfOrder)).map(titlesOf);
  const allTold = () =>
    eventually(() => watched.every(isTold), {
      withinMs: 120_000,
      what: 'Askwatch to acknowledge how every site is',
    });
  const expectTruth = () =>
    eventually(() => expect(verdict()).toMatchObject({ ...CLEAN, outOfOrder: [] }) ?? true, {
      withinMs: 240_000,
      what: 'every alert to be told once and every message to be true',
    });

  const all = 2 * MAX_OUTAGES * watched.length;
  let turned = 0;
  const beganMs = performance.now();
  const untilMs = beganMs + size.lastsMs;
  const wantedKills = Math.floor(size.lastsMs / size.killEveryMs);
  let killAtMs = beganMs + random() * size.killEveryMs;
  while (performance.now() < untilMs || kills < wantedKills) {
    const progress = Math.min(1, (performance.now() - beganMs) / size.lastsMs);
    // A little more than evenly, and by ones, twos and many at once.
    const due = Math.min(all, 1.2 * progress * all) - turned;
    for (let left = due > 0 ? upTo(2 * due + 2) : 0; left > 0; left -= 1) {
      const able = watched.filter(
        (site) => isTold(site) && (site.isDown || site.outages < MAX_OUTAGES),
      );
      const chosen = able[upTo(able.length)];
      if (!chosen) break;
      turnOver(chosen);
      turned += 1;
    }
    await pause(100 + upTo(400));
    if (kills === wantedKills || performance.now() < killAtMs) continue;
    await killAndStart();
    killAtMs = beganMs + (kills + random()) * size.killEveryMs;
  }
  await allTold();
  await expectTruth();
  for (const site of watched) if (site.isDown) turnOver(site);
  await allTold();
  await expectTruth();
  isRuling = false;
  await ruling;
  expect(await life.stop()).toBe(0);
  expect(verdict()).toMatchObject({ ...CLEAN, outOfOrder: [] });
  expect(relay.strange).toEqual([]);
  expectNoBreach(slack);
  const outages = watched.reduce((sum, site) => sum + site.outages, 0);
  expect(outages).toBeGreaterThan(0);
  const report = {
    seed: seed(),
    alerts: watched.length,
    kills,
    turned,
    outages,
    deliveries: relay.counts,
    ...verdict(),
  };
  process.stdout.write(`alertmanager: ${JSON.stringify(report)}\n`);
}

/** Makes an intake for a channel by the command, and gives the path that its card shows. */
export async function hookPath(slack: SlackFake, channel: string): Promise<string> {
  await slack.slash('/monitor', 'intake add alertmanager', { channel });
  const shown = () => slack.whispers(channel).join('\n');
  const path = () => /\/hooks\/alertmanager\/[\w-]+/.exec(shown())?.[0];
  return await eventually(() => path() ?? false, { what: 'the address of an intake' });
}

/** A route and a receiver for each team. */
export function configOf(receivers: ReadonlyArray<{ name: string; url: string }>): string {
  return JSON.stringify({
    route: {
      receiver: receivers[0]?.name,
      group_by: ['team', 'group'],
      ...{ group_wait: '1s', group_interval: '1s', repeat_interval: '20s' },
      routes: receivers.map(({ name }) => ({ receiver: name, matchers: [`team="${name}"`] })),
    },
    receivers: receivers.map(({ name, url }) => ({
      name,
      webhook_configs: [{ url, send_resolved: true }],
    })),
  });
}

function alertOf({ name, team }: WatchedSite, nowMs: number): ToldAlert {
  const group = String(Math.floor(Number(/x(\d+)x/.exec(name)?.[1]) / GROUP));
  return {
    labels: { alertname: name, team: String(team), group, severity: 'critical' },
    annotations: { summary: `probe_success of ${name} is 0` },
    startsAt: utc(nowMs),
    endsAt: utc(nowMs + LEASE_MS),
  };
}

const utc = (ms: number) => new Date(ms).toISOString();

/** Returns true if an alert's message showed the outage as ongoing after it had shown it as over. */
function isOutOfOrder({ titles }: AlertMessage): boolean {
  if (!titles.every((title) => title.startsWith('Site'))) return false;
  const over = titles.findIndex((title) => !goesOn(title));
  return over !== -1 && titles.slice(over).some(goesOn);
}

const titlesOf = ({ titles }: AlertMessage) => titles.join(' > ');
