import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { expectNoBreach, socketMode } from '../../helpers/end-to-end/slack-program.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const CLOCK = new URL('../../helpers/end-to-end/shifted-clock.mjs', import.meta.url);
const PROGRAM = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const ONCALL = 'C00ONCALL';
const PERSON = 'U00ADA';
const HOUR_MS = 3_600_000;
const AFTER_MS = 600_000;
const KILLS = long ? 100 : 2;

/** The program is ready about this long before an escalation is due; a kill may come as long after it. */
const READY_MS = 2_000;
const UNTIL_MS = 2_500;

test('an outage that nobody acknowledges is told elsewhere once, and calls one person, whenever around its time the program is killed with -9', {
  timeout: long ? 7_200_000 : 300_000,
}, async () => {
  const slack = await startSlack();
  slack.addChannel({ id: ONCALL });
  const dataDir = await temporaryFolder();
  const random = createRandom(seed());
  let bootMs = 2_000;

  /** Starts the program so that its clock shows a time when it is ready, about. */
  async function start(nowMs: number) {
    const beganMs = performance.now();
    const askwatch = await startAskwatch({
      dataDir,
      command: [process.execPath, '--import', CLOCK.href, PROGRAM],
      env: {
        ...socketMode(slack),
        ASKWATCH_TEST_NOW_MS: String(Math.round(nowMs - bootMs)),
        ALERT_POLL_SECONDS: '1',
        WHO_MAY_MANAGE: 'everyone',
        WHO_MAY_ADD: 'everyone',
        MONITOR_ALLOW_PRIVATE: '127.0.0.0/8',
      },
    });
    bootMs = performance.now() - beganMs;
    return askwatch;
  }

  const texts = (channel: string) => slack.messages(channel).map(shownText);
  const calls = () => slack.messages(ONCALL).map(({ called }) => called);

  const firstMs = Date.now() - (KILLS + 1) * HOUR_MS;
  for (let round = 0; round < KILLS; round += 1) {
    const name = `shop${round}x`;
    const beganMs = firstMs + round * HOUR_MS;
    const before = await start(beganMs);
    const readyAtMs = performance.now();
    if (round === 0) {
      const line = `escalate after 10m to <#${ONCALL}|oncall> <@${PERSON}|ada>`;
      await slack.slash('/monitor', line);
      await eventually(() => texts(CHANNEL).join().includes('is posted in #oncall'));
    }
    await slack.slash('/monitor', `add http://127.0.0.1:9/${round} name="${name}" interval=5`);
    await eventually(() => texts(CHANNEL).some((text) => text.includes(`${name} is down`)));
    const openedMs = beganMs + performance.now() - readyAtMs;
    await before.kill();

    const killed = await start(openedMs + AFTER_MS - READY_MS);
    const killAtMs = performance.now() + random() * (READY_MS + UNTIL_MS);
    await eventually(() => performance.now() >= killAtMs);
    await killed.kill();
    const after = await start(openedMs + AFTER_MS + 60_000);
    await eventually(() => texts(ONCALL).some((text) => text.includes(name)));
    // A duplicate would arrive immediately.
    await slack.slash('/monitor', 'escalate');
    await eventually(() => slack.whispers(CHANNEL).length === round + 1);
    await after.kill();
    const own = texts(ONCALL).filter((text) => text.includes(name));
    expect({ round, own: own.length, calls: calls() }).toEqual({
      ...{ round, own: 1 },
      calls: Array.from({ length: round + 1 }, () => [PERSON]),
    });
    expect(own[0]).toContain(`${name} is down, not acknowledged within `);
  }
  expectNoBreach(slack);
});
