import { expect, test } from 'vitest';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { clockedProgram } from '../../helpers/end-to-end/clocked-program.ts';
import { expectNoBreach } from '../../helpers/end-to-end/slack-program.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';

const ONCALL = 'C00ONCALL';
const PERSON = 'U00ADA';
const HOUR_MS = 3_600_000;
const AFTER_MS = 600_000;
const KILLS = long ? 100 : 2;

test('an outage that nobody acknowledges is told elsewhere once, and calls one person, whenever around its time the program is killed with -9', {
  timeout: long ? 7_200_000 : 300_000,
}, async () => {
  const slack = await startSlack();
  slack.addChannel({ id: ONCALL });
  const { start, texts, killAround } = await clockedProgram(slack, {
    WHO_MAY_ADD: 'everyone',
    MONITOR_ALLOW_PRIVATE: '127.0.0.0/8',
  });
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
      await eventually(() => texts().join().includes('is posted in #oncall'));
    }
    await slack.slash('/monitor', `add http://127.0.0.1:9/${round} name="${name}" interval=5`);
    await eventually(() => texts().some((text) => text.includes(`${name} is down`)));
    const openedMs = beganMs + performance.now() - readyAtMs;
    await before.kill();

    await killAround(openedMs + AFTER_MS, round);
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
