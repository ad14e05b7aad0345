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
const DAY_MS = 86_400_000;
const KILLS = long ? 100 : 4;

/** The program is ready about this long before a report is due; a kill may come as long after it. */
const READY_MS = 2_000;
const UNTIL_MS = 1_500;

test('a report is posted once, whenever around its time the program is killed with -9', {
  timeout: long ? 7_200_000 : 300_000,
}, async () => {
  const slack = await startSlack();
  const dataDir = await temporaryFolder();
  const random = createRandom(seed());
  // One a day, all of them past: what a platform is asked for is never of the future.
  const firstDueMs = Math.floor(Date.now() / DAY_MS - KILLS - 1) * DAY_MS + 9 * 3_600_000;
  const reports = () =>
    slack
      .messages(CHANNEL)
      .map(shownText)
      .filter((text) => text.includes('Daily report'));

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
      },
    });
    bootMs = performance.now() - beganMs;
    return askwatch;
  }
  let bootMs = 2_000;

  const first = await start(firstDueMs - 3_600_000);
  await slack.slash('/monitor', 'alerts on');
  await slack.slash('/monitor', 'report on daily UTC 09:00');
  await eventually(() =>
    slack.messages(CHANNEL).map(shownText).join().includes('Reports are posted here'),
  );
  await first.kill();

  for (let round = 0; round < KILLS; round += 1) {
    const dueMs = firstDueMs + round * DAY_MS;
    const killed = await start(dueMs - READY_MS);
    const killAtMs = performance.now() + random() * (READY_MS + UNTIL_MS);
    await eventually(() => performance.now() >= killAtMs);
    await killed.kill();
    const after = await start(dueMs + 3_600_000);
    await eventually(() => reports().length > round);
    // A duplicate would arrive immediately.
    await eventually(() => after.output().includes('is ready after'));
    await slack.slash('/monitor', 'report');
    await eventually(() => slack.whispers(CHANNEL).length === round + 1);
    await after.kill();
    expect({ round, reports: reports().length }).toEqual({ round, reports: round + 1 });
  }
  expectNoBreach(slack);
});
