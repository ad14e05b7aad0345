import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readTexts } from '../../helpers/monitoring/provisioning/read-text.ts';
import { runCommand } from '../../helpers/run-command.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

async function importCsv(csv: string) {
  const path = join(await temporaryFolder(), 'monitors.csv');
  await writeFile(path, csv);
  const { code, out, err } = await runCommand('monitors', 'import', 'uptimerobot', path);
  const { monitors, problems } = await readTexts({ a: out }, { allowPrivate: ['10.0.0.0/8'] });
  return { code, out, err, problems, monitors: monitors.map(({ definition }) => definition) };
}

const HEADING = 'ID,Type,Status,Friendly Name,URL/IP,Keyword Type,Keyword Value,Port';

test('imports an export of UptimeRobot, into a file without problems', async () => {
  const { code, out, problems, monitors } = await importCsv(
    [
      HEADING,
      '1,HTTP,Up,Shop,https://shop.example.com/,,,',
      '2,Keyword,Up,"Cart, page",https://shop.example.com/cart,Not Exists,"say ""Cart""\nor so",',
      '3,Keyword,Down,Errors,shop.example.com,Exists,Error,',
      '4,Port,Up,Database,10.0.0.5,,,5432',
      '5,Ping,Up,Router,10.0.0.1,,,',
      '6,Heartbeat,Up,Nightly,https://heartbeat.uptimerobot.com/x,,,',
      '7,HTTP,Paused,Old,https://old.example.com/,,,',
      '',
    ].join('\r\n'),
  );
  expect({ code, problems }).toEqual({ code: 0, problems: [] });
  expect(monitors).toMatchObject([
    { name: 'Shop', check_type: 'HTTP', target: 'https://shop.example.com/' },
    { name: 'Cart, page', config: { target_keyword: 'say "Cart"\nor so', inverted: false } },
    { target: 'http://shop.example.com', config: { target_keyword: 'Error', inverted: true } },
    { check_type: 'TCP', target: '10.0.0.5:5432' },
    { name: 'Nightly', check_type: 'HEARTBEAT', target: 'Nightly' },
  ]);
  expect(out).toContain('MONITOR_ALLOW_PRIVATE=10.0.0.0/8');
  expect(out).toMatch(
    /# Not imported \(2\):\n# Router: Askwatch can't check ping; .*\n# Old: it is paused/,
  );
});

test.each([
  ['5', 300],
  ['1', 60],
  ['300', 300],
  ['', 60],
  ['x', 60],
])('reads the interval %j as %i seconds', async (text, interval_seconds) => {
  const csv = `\ufeffType,Friendly Name,URL/IP,Interval\n1,a,https://a.example/,${text}`;
  expect((await importCsv(csv)).monitors).toMatchObject([{ config: { interval_seconds } }]);
});

test.each([
  ['', ''],
  ['another table', 'a,b,c\n1,2,3'],
  ['an open quote', '"'.repeat(100_001)],
])('refuses a file with %j', async (_, csv) => {
  const { code, out, err } = await importCsv(csv);
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toContain('its first line must name the columns Type, Friendly Name and URL/IP');
});

test('cannot be made to end its comments or declare monitors', async () => {
  const evil = '"a\nmonitors: {evil: {}}"';
  const { monitors, problems, out } = await importCsv(
    `${HEADING}\n1,${evil},Up,${evil},x,,,\n1,Ping,Up,${evil},x,,,\n1,constructor,Up,odd,x,,,`,
  );
  expect({ monitors, problems }).toEqual({ monitors: [], problems: [] });
  expect(out).toContain("# odd: Askwatch can't check constructor");
});
