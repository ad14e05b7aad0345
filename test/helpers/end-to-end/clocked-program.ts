import { setTimeout as pause } from 'node:timers/promises';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { createRandom } from '../random.ts';
import { seed } from '../seed.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { PROGRAM, startAskwatch } from './askwatch-process.ts';
import { shown, socketMode } from './slack-program.ts';

const CLOCK = new URL('shifted-clock.mjs', import.meta.url).href;

/** The program is ready about this long before something is due; a kill may come as long after it. */
const AROUND_MS = 2_000;

/** Starts programs on one data folder, each with a clock that shows about the given time when it is ready. */
export async function clockedProgram(slack: SlackFake, env: Record<string, string> = {}) {
  const dataDir = await temporaryFolder();
  const random = createRandom(seed());
  let bootMs = 2_000;

  async function start(nowMs: number) {
    const beganMs = performance.now();
    const askwatch = await startAskwatch({
      dataDir,
      command: [process.execPath, '--import', CLOCK, PROGRAM],
      env: {
        ...{ ...socketMode(slack), ALERT_POLL_SECONDS: '1', WHO_MAY_MANAGE: 'everyone', ...env },
        ASKWATCH_TEST_NOW_MS: String(Math.round(nowMs - bootMs)),
      },
    });
    bootMs = performance.now() - beganMs;
    return askwatch;
  }

  return {
    start,
    texts: (channel = CHANNEL) => shown(slack, channel),
    /** Kills a program with -9 about the time that something is due: before it in even rounds, after it in odd ones. */
    async killAround(dueMs: number, round: number) {
      const killed = await start(dueMs - AROUND_MS);
      await pause(((round % 2) + random()) * AROUND_MS);
      await killed.kill();
    },
  };
}
