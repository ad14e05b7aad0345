import { expect, test } from 'vitest';
import { botFindings } from '../../src/cli/doctor-database.ts';
import type { DatabaseFacts } from '../../src/store/postgres/inspection.ts';

/** The doctor's line about the bot. */
function lineOf({
  alive = ['app-1:41', 'app-2:40'],
  holder,
  url,
}: {
  alive?: string[];
  holder?: string | null;
  url?: string;
}): string | undefined {
  const members = alive.map((name) => ({ name, version: '1.0.0', wants: ['checks'] }));
  const leases = holder === undefined ? [] : [{ kind: 'bot', holder, count: 1 }];
  const facts = { processes: { members, leases } } as Partial<DatabaseFacts> as DatabaseFacts;
  const [finding, ...others] = botFindings(facts, url);
  expect(others).toEqual([]);
  return finding && `${finding.level} ${finding.check}: ${finding.text}`;
}

const LOCAL = 'http://127.0.0.1:3000';

test('names the process that has the bot, and where the others reach it', () => {
  expect(lineOf({ holder: 'app-1:41', url: 'http://10.0.0.7:3000' })).toBe(
    'ok Bot: held by app-1:41 at http://10.0.0.7:3000',
  );
});

test('says that the bot is being handed over while its holder has no address', () => {
  expect(lineOf({ holder: 'app-1:41' })).toMatch(/^ok Bot: held by app-1:41; .*handing/);
});

test('warns if running processes leave the bot to nobody', () => {
  expect(lineOf({ holder: null, url: LOCAL })).toMatch(/^warning Bot: No process has it\./);
});

test.each([LOCAL, 'http://[::1]:3000', 'http://localhost:3000'])(
  'warns if other machines are sent to %s',
  (url) => {
    expect(lineOf({ holder: 'app-1:41', url })).toMatch(/^warning Bot: .*Set INTERNAL_URL/);
  },
);

test('accepts an address of the machine itself if all processes run on one machine', () => {
  const alive = ['app-1:41', 'app-1:42'];
  expect(lineOf({ alive, holder: 'app-1:41', url: LOCAL })).toMatch(/^ok Bot: held by app-1:41 at/);
});

test.each([{ alive: [], holder: null }, {}])(
  'says nothing of a bot that never ran: %j',
  (facts) => {
    expect(lineOf(facts)).toBeUndefined();
  },
);
