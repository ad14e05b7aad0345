import { describe, expect, test } from 'vitest';
import {
  openPlatformLimits,
  platformLimitsCollection,
} from '../../../src/bot/shared/platform-limits.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

describe.skipIf(!hasPostgres)('rate limits that a platform named to one of two processes', () => {
  test('are soon known to the other, for each platform by itself, and both keep those of both', async () => {
    const { open, log } = await testDatabase();
    const openLimits = async () => {
      const collection = (await open()).collection(platformLimitsCollection);
      const limitsOf = (platform: string) => openPlatformLimits({ platform, collection, log });
      return { slack: await limitsOf('slack'), discord: await limitsOf('discord') };
    };
    const [one, other] = [await openLimits(), await openLimits()];
    await one.slack.limited('T1 chat.update', 60_000);
    await eventually(() => other.slack.leftMs('T1 chat.update') > 0);
    expect(other.slack.leftMs('T1 chat.update')).toBeLessThanOrEqual(60_000);
    expect(other.discord.leftMs('T1 chat.update')).toBe(0);
    await other.discord.limited('POST /messages', 60_000);
    await eventually(() => one.discord.leftMs('POST /messages') > 0);

    await other.slack.limited('T2 chat.update', 60_000);
    const third = await openLimits();
    const known = ['T1', 'T2'].map((team) => third.slack.leftMs(`${team} chat.update`) > 0);
    expect(known).toEqual([true, true]);
  });
});
