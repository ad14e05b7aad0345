import { expect, test } from 'vitest';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { clockedProgram } from '../../helpers/end-to-end/clocked-program.ts';
import { expectNoBreach } from '../../helpers/end-to-end/slack-program.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';

const DAY_MS = 86_400_000;
const KILLS = long ? 100 : 2;

test('a report is posted once, whenever around its time the program is killed with -9', {
  timeout: long ? 7_200_000 : 300_000,
}, async () => {
  const slack = await startSlack();
  const { start, texts, killAround } = await clockedProgram(slack);
  // One a day, all of them past: what a platform is asked for is never of the future.
  const firstDueMs = Math.floor(Date.now() / DAY_MS - KILLS - 1) * DAY_MS + 9 * 3_600_000;
  const reports = () => texts().filter((text) => text.includes('Daily report'));

  const first = await start(firstDueMs - 3_600_000);
  await slack.slash('/monitor', 'alerts on');
  await slack.slash('/monitor', 'report on daily UTC 09:00');
  await eventually(() => texts().join().includes('Reports are posted here'));
  await first.kill();

  for (let round = 0; round < KILLS; round += 1) {
    const dueMs = firstDueMs + round * DAY_MS;
    await killAround(dueMs, round);
    const after = await start(dueMs + 3_600_000);
    await eventually(() => reports().length > round);
    // A duplicate would arrive immediately.
    await slack.slash('/monitor', 'report');
    await eventually(() => slack.whispers(CHANNEL).length === round + 1);
    await after.kill();
    expect({ round, reports: reports().length }).toEqual({ round, reports: round + 1 });
  }
  expectNoBreach(slack);
});
