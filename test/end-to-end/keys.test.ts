import { describe, test } from 'vitest';
import { sharedAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import {
  limitsOnlyGatewayKeys,
  managesKeys,
  showsUsage,
} from '../helpers/end-to-end/key-commands.ts';

describe('npx askwatch keys, while the program runs', () => {
  const shared = sharedAskwatch();

  test('creates, lists, limits and revokes', () => managesKeys(shared()));

  test('shows what was used, by day and model', () => showsUsage(shared()));
});

test('npx askwatch keys, while the program does not run, gives monitoring keys no limits, and shows hostile names as they are spelled', () =>
  limitsOnlyGatewayKeys());
