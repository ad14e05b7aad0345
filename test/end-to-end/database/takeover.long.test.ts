import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { HEARD_BY_ALL_MS } from '../../fakes/too-early.ts';
import { startProcesses } from '../../helpers/end-to-end/chaos.ts';
import { startForBot } from '../../helpers/end-to-end/services.ts';
import { socketMode } from '../../helpers/end-to-end/slack-program.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';

const KILLS = 24;
const GOAL_MS = 8_000;

/** The first word of an answer, and the second. */
const WORDS = ['first ', 'second.'];

test.skipIf(!hasPostgres)(
  'another process posts an outage and answers within 8 s after the holder of the bot is killed',
  async () => {
    const random = createRandom(seed());
    const { url: database, schema } = await testDatabase();
    const { provider, service, env: services } = await startForBot();
    provider.answerWith(WORDS);
    const slack = await startSlack(onTestFinished, { heardMs: HEARD_BY_ALL_MS });
    const alerts = slack.addChannel({ id: 'C00ALERTS' }).id;
    const env = { ...socketMode(slack), ...services, ALERT_CHANNELS: `slack:${alerts}` };
    const monitors = Array.from({ length: KILLS }, (_, no) => service.add({ name: `m${no}x` }));
    const processes = await startProcesses(3, { database, schema, env });
    const toldMs: number[] = [];
    const answeredMs: number[] = [];

    for (const { id, name } of monitors) {
      await processes.allReady();
      const looks = service.requests.length;
      await eventually(() => service.requests.length > looks + 2);
      await pause(random() * 1_000);
      let began = 0;
      let ts = '';
      const killing = processes.kill(
        () => 0,
        () => {
          slack.killed();
          began = performance.now();
          service.setStatus(id, 'DOWN');
          ts = slack.mention(`${name}?`);
        },
      );
      await eventually(() => ts !== '');
      const since = async (isSo: () => boolean) => {
        await eventually(isSo);
        return performance.now() - began;
      };
      const shown = () => slack.messages(alerts).map(shownText).join('\n');
      const answer = () => slack.thread(CHANNEL, ts).map(shownText).join('\n');
      const [told, answered] = await Promise.all([
        since(() => shown().includes(name)),
        since(() => answer().includes('first')),
      ]);
      toldMs.push(told);
      answeredMs.push(answered);
      await killing;
      service.setStatus(id, 'UP');
    }
    expect(await processes.stop()).toEqual([0, 0, 0]);

    const firstMs = toldMs.map((ms, at) => Math.min(ms, answeredMs[at] ?? ms));
    const report = { first: spread(firstMs), told: spread(toldMs), answered: spread(answeredMs) };
    process.stdout.write(`takeover: ${JSON.stringify({ kills: KILLS, ...report })}\n`);
    expect(report.first.p95).toBeLessThanOrEqual(GOAL_MS);
  },
  900_000,
);

function spread(ms: readonly number[]) {
  const sorted = [...ms].sort((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
  return { p50: at(0.5), p95: at(0.95), max: at(1) };
}
