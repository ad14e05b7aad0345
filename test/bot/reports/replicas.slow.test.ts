import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import type { Platform } from '../../../src/bot/platform.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { startCuttableProxy } from '../../helpers/postgres/proxy.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

/** So that a process is thought dead within a test's time. */
const SHORT = { ttlMs: 1_500, beatMs: 300 };

const MINUTE_MS = 60_000;

/** A request takes no longer. */
const REQUEST_MS = 10_000;

/** What happens to whoever posts a report: it can reach the database no more, before or after the platform takes it. */
type Fault = 'cut before' | 'cut after';

/** Bots of two processes on one database over one platform, and who sets what they are to report. */
async function startReplicas() {
  const database = await testDatabase();
  const provider = await startModelProvider();
  onTestFinished(() => provider.close());
  const service = await startMonitoringService({ limit: false });
  onTestFinished(() => service.close());
  const slack = createScriptedPlatform('slack');
  const posts: Array<{ by: number; id: string }> = [];
  let fault: Fault | undefined;
  const links: Array<{ restore(): void }> = [];
  for (const no of [0, 1]) {
    const link = await startCuttableProxy(database.url, { passesNotifications: true });
    links.push(link);
    const store = await database.open({ url: link.url, directUrl: link.url, times: SHORT });
    const { bot } = await startTestBot({ store, provider, service });
    const platform: Platform = {
      ...slack,
      async post(post) {
        posts.push({ by: no, id: post.id });
        const met = fault;
        fault = undefined;
        if (met === undefined) return await slack.post(post);
        link.cut();
        if (met === 'cut after') await slack.post(post);
        await pause(REQUEST_MS);
        throw new Error('no answer');
      },
    };
    await bot.start([platform]);
  }
  const channels = createChannels(await database.open());
  return {
    slack,
    posts,
    inject(next: Fault) {
      fault = next;
    },
    restore() {
      for (const link of links) link.restore();
    },
    /** Has a channel told of the day before, which was due a minute ago. */
    async schedule(channel: string) {
      const dueMs = Math.floor(Date.now() / MINUTE_MS - 1) * MINUTE_MS;
      const minute = (dueMs / MINUTE_MS) % 1_440;
      const report = { every: 'daily', minute, zone: 'UTC', setAtMs: dueMs - 1 } as const;
      await channels.change({ platform: 'slack', channel }, { settings: { report } });
    },
  };
}

describe.skipIf(!hasPostgres)('reports of two processes on one database', () => {
  test('are made and told once, whoever of them dies in the middle', {
    timeout: 600_000,
  }, async () => {
    const { slack, posts, schedule, inject, restore } = await startReplicas();
    const story: Array<Fault | undefined> = [
      ...([undefined, 'cut after'] as const),
      ...Array.from({ length: long ? 30 : 0 }, (_, no) =>
        no % 2 === 0 ? ('cut before' as const) : ('cut after' as const),
      ),
    ];
    const told = (channel: string) => slack.messages.filter((one) => one.channel === channel);
    for (const [round, fault] of story.entries()) {
      const channel = `R${round}`;
      if (fault) inject(fault);
      await schedule(channel);
      const tries = () => posts.filter(({ id }) => id.endsWith(`slack:${channel}`));
      await eventually(() => told(channel).length === 1 && (!fault || tries().length > 1), {
        withinMs: 150_000,
      });
      // Another one went on with what the first had begun.
      if (fault) expect(new Set(tries().map(({ by }) => by)).size).toBe(2);
      restore();
    }
    await pause(1_000);
    for (const round of story.keys()) {
      expect(told(`R${round}`).map(({ card }) => card.title)).toEqual(['Daily report: no data']);
    }
    const [first] = posts;
    expect(posts.filter(({ id }) => id === first?.id)).toHaveLength(1);
  });
});
