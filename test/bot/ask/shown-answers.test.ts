import { expect, test } from 'vitest';
import { createShownAnswers } from '../../../src/bot/ask/shown-answers.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const PLACE = { platform: 'discord', channel: 'C1' } as const;

test('the newest messages of each channel survive a restart', async () => {
  const folder = await temporaryFolder();
  const { log } = recordingLog();
  const first = await openTestStore({ folder, log });
  const shown = createShownAnswers(first, { maxMessages: 5 });
  const other = { ...PLACE, channel: 'C2' };
  await shown.add(other, 'm0', { place: PLACE, thread: 'elsewhere' });
  for (let index = 0; index <= 5; index += 1) {
    await shown.add(PLACE, `m${index}`, { place: PLACE, thread: `t${index}` });
  }
  await first.close();
  const second = await openTestStore({ folder, log });
  const again = createShownAnswers(second, { maxMessages: 5 });
  expect(await again.of(PLACE, 'm0')).toBeUndefined();
  expect(await again.of(PLACE, 'm1')).toEqual({ place: PLACE, thread: 't1' });
  expect(await again.of(PLACE, 'm5')).toEqual({ place: PLACE, thread: 't5' });
  expect(await again.of(other, 'm0')).toEqual({ place: PLACE, thread: 'elsewhere' });
  expect(await again.of({ ...PLACE, platform: 'slack' }, 'm1')).toBeUndefined();
  await second.close();
});
