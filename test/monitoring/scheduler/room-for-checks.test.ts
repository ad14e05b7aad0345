import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { roomForChecks } from '../../../src/monitoring/scheduler/room-for-checks.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

/** The room under this limit of the kernel, and the log's warning. */
async function roomWith(limits: string) {
  const { log, lines } = recordingLog();
  const file = join(await temporaryFolder(), 'limits');
  await writeFile(file, limits);
  return { room: await roomForChecks(log, file), said: lines.map(({ msg }) => msg) };
}

const limitsOf = (soft: string) =>
  [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max processes             95990                95990                processes ',
    `Max open files            ${soft.padEnd(20)} 1048576              files     `,
    'Max locked memory         67108864             67108864             bytes     ',
  ].join('\n');

test.each([
  { soft: '1048576', room: 1_024 },
  { soft: '2048', room: 1_024 },
  { soft: 'unlimited', room: 1_024 },
])('is for 1,024 checks where $soft files may be open', async ({ soft, room }) => {
  expect(await roomWith(limitsOf(soft))).toEqual({ room, said: [] });
});

test.each([
  { soft: '2046', room: 1_023 },
  { soft: '1024', room: 512 },
  { soft: '64', room: 32 },
])('is for half of $soft files, and the log says what to do', async ({ soft, room }) => {
  expect(await roomWith(limitsOf(soft))).toEqual({
    room,
    said: [expect.stringMatching(`^at most ${room} checks .* only ${soft} files; .*LimitNOFILE=`)],
  });
});

test('is for few checks where nobody tells the limit', async () => {
  expect(await roomWith('Max processes 95990 95990 processes')).toEqual({ room: 256, said: [] });
  expect(await roomForChecks(recordingLog().log, '/nowhere/limits')).toBe(256);
});
