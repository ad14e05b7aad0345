import { expect, test } from 'vitest';
import { createChangesReader } from '../../helpers/monitoring/changes-reader.ts';
import { startService } from '../../helpers/monitoring/service.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { describeChanges } from './changes-contract.ts';

describeChanges('files', () => startService());

test('changes are refused for a cursor from before a restart: what came between is nowhere', async () => {
  const folder = await temporaryFolder();
  const before = await startService({ folder });
  const reader = createChangesReader();
  await reader.read(before);
  await before.close();
  const after = await startService({ folder });
  await reader.read(after);
  expect(reader.answers).toEqual({ lists: 2, changes: 0, resets: 1 });
});
