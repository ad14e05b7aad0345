// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Files hold variables in this form.
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readMonitorsFile } from '../../../src/monitoring/provisioning/read.ts';
import { readSourceFiles } from '../../../src/monitoring/provisioning/source-files.ts';
import { monitorsFileProgram } from '../../helpers/files/reader-program.ts';
import { readTexts } from '../../helpers/monitoring/provisioning/read-text.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const read = (path: string) =>
  readMonitorsFile({
    ...{ path, taboo: [], allowPrivate: [], platforms: ['slack'] },
    program: monitorsFileProgram(),
  });

describe('a file of monitors', () => {
  test('is read with all it can hold, defaults filled in as the API fills them', async () => {
    const text = `
x-defaults: &defaults {interval_seconds: 30, confirm_down: 3}
monitors:
  shop:
    name: The shop
    target: https://shop.example/?token=\${SHOP_TOKEN}
    check_type: KEYWORD
    config:
      <<: *defaults
      confirm_down: 1
      target_keyword: Cart $\${x}
      headers: {Authorization: 'Bearer \${SHOP_TOKEN}'}
    channels: ["slack:C0123", "slack:C0123"]
    depends_on: [eu/db, alert:prometheus/DiskFull]
    tags: [Shop, eu]
    runbook: |
      1. Look at the queue
      2. Restart
    maintenance:
      - {cron: 0 3 * * 0, timezone: Europe/Berlin, duration_minutes: 30}
      - {weekly: [sat, mon], from: 02:00, timezone: Europe/Berlin, duration_minutes: 120, reason: updates}
      - {starts_at: 2026-12-01T22:00, timezone: Europe/Berlin, duration_minutes: 90}
  eu/db:
    id: mon_0123456789abcdef
    target: \${HOST}
    check_type: DNS
`;
    const env = { SHOP_TOKEN: 'swordfish', HOST: 'db.example' };
    const { monitors, problems } = await readTexts({ 'a.yaml': text }, { env });
    expect(problems).toEqual([]);
    const [shop, db] = monitors;
    expect(shop).toMatchObject({
      ...{ key: 'shop', file: 'a.yaml', line: 4, channels: ['slack:C0123'] },
      dependsOn: ['eu/db', 'alert:prometheus/DiskFull'],
      maintenance: [
        { cron: '0 3 * * 0', timezone: 'Europe/Berlin', duration_minutes: 30 },
        {
          ...{ weekly: ['mon', 'sat'], from: '02:00', timezone: 'Europe/Berlin' },
          ...{ duration_minutes: 120, reason: 'updates' },
        },
        { starts_at: '2026-12-01T22:00', timezone: 'Europe/Berlin', duration_minutes: 90 },
      ],
      definition: {
        ...{
          name: 'The shop',
          target: 'https://shop.example/?token=swordfish',
          tags: ['eu', 'shop'],
          runbook: '1. Look at the queue\n2. Restart',
        },
        config: {
          ...{ interval_seconds: 30, confirm_down: 1, confirm_up: 1, target_keyword: 'Cart ${x}' },
          headers: { Authorization: 'Bearer swordfish' },
        },
      },
    });
    expect(db).toMatchObject({
      id: 'mon_0123456789abcdef',
      definition: { name: 'eu/db', target: 'db.example', check_type: 'DNS' },
    });
  });

  test('may be JSON, and may declare nothing', async () => {
    const json = JSON.stringify(
      { monitors: { shop: { target: 'https://shop.example', check_type: 'HTTP' } } },
      null,
      '\t',
    );
    expect((await readTexts({ 'a.json': json })).monitors).toMatchObject([
      { key: 'shop', line: 3 },
    ]);
    expect(await readTexts({ 'a.yaml': 'monitors: {}' })).toEqual({ monitors: [], problems: [] });
    expect(await readTexts({ 'a.yaml': 'monitors:' })).toEqual({ monitors: [], problems: [] });
  });

  test('cannot make its objects those of another kind', async () => {
    const text =
      'monitors:\n  shop:\n    target: https://x.example\n    check_type: HTTP\n    __proto__: {name: Shop}';
    const { problems } = await readTexts({ 'a.yaml': text });
    expect(problems.map(({ line, message }) => [line, message])).toEqual([
      [5, expect.stringContaining("unknown field '__proto__'")],
    ]);
  });

  test('an anchor that contains itself is refused', async () => {
    const { problems } = await readTexts({ 'a.yaml': 'x-a: &a [*a]\nmonitors: {}' });
    expect(problems).toMatchObject([{ line: 1, column: 10 }]);
  });

  test('aliases of aliases share one value', async () => {
    const laughs = Array.from(
      { length: 11 },
      (_, at) => `x-${at + 1}: &a${at + 1} [${Array(10).fill(`*a${at}`).join(', ')}]`,
    );
    const text = ['x-0: &a0 [ha]', ...laughs, 'monitors: {}'].join('\n');
    expect(await readTexts({ 'a.yaml': text })).toEqual({ monitors: [], problems: [] });
  });
});

test.each([
  ['nested lists', '['.repeat(100_000), 'nest lists and objects less deeply'],
  ['keys of keys', '? '.repeat(50_000), 'nest lists and objects less deeply'],
  ['millions of quotes', '"'.repeat(4_900_000), 'more than 256 MB of memory'],
])('refuses a file of %s in words', async (_what, text, sentence) => {
  const path = join(await temporaryFolder(), 'monitors.yaml');
  await writeFile(path, text);
  await expect(read(path)).rejects.toThrow(sentence);
});

describe('what MONITORS_FILE names', () => {
  test('is read in a process of its own, with the line of every monitor', async () => {
    const path = join(await temporaryFolder(), 'monitors.yaml');
    const lines = Array.from(
      { length: 600 },
      (_, at) => `  k${at}: {target: "https://x.example/${at}", check_type: HTTP}`,
    );
    await writeFile(path, ['monitors:', ...lines].join('\n'));
    const monitors = await read(path);
    expect(monitors.map(({ line }) => line)).toEqual(lines.map((_, at) => at + 2));
    await writeFile(path, 'monitors:\n  shop: {}\n');
    await expect(read(path)).rejects.toThrow(
      `${path}:2:3: 'check_type' is missing. Use HTTP, KEYWORD, DNS, `,
    );
  });

  test('may be a folder of links, as Kubernetes mounts one', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, '..2026_11_27'));
    const text = (name: string) =>
      `monitors: {${name}: {target: "https://x.example", check_type: HTTP}}`;
    await writeFile(join(folder, '..2026_11_27', 'a.yaml'), text('a'));
    await writeFile(join(folder, '..2026_11_27', 'b.json'), text('b'));
    await writeFile(join(folder, 'README.md'), 'no monitors');
    await symlink('..2026_11_27', join(folder, '..data'));
    for (const name of ['a.yaml', 'b.json']) await symlink(`..data/${name}`, join(folder, name));
    const files = await readSourceFiles(folder);
    expect(files.map(({ name }) => name)).toEqual([join(folder, 'a.yaml'), join(folder, 'b.json')]);
  });

  test('is refused with what to do where it is not there, empty, too large or no text', async () => {
    const folder = await temporaryFolder();
    const path = join(folder, 'monitors.yaml');
    await expect(readSourceFiles(path)).rejects.toThrow('this file does not exist; create it');
    await expect(readSourceFiles(folder)).rejects.toThrow('the folder has no file');
    await writeFile(path, Buffer.alloc(5 * 1024 * 1024 + 1, 0x20));
    await expect(readSourceFiles(path)).rejects.toThrow('larger than 5 MB');
    await writeFile(path, Buffer.from([0x61, 0x0a, 0x62, 0xff, 0x0a]));
    await expect(readSourceFiles(path)).rejects.toThrow(`${path}:2:1: this is not UTF-8 text`);
    for (let at = 0; at <= 500; at += 1) await writeFile(join(folder, `${at}.yaml`), '');
    await expect(readSourceFiles(folder)).rejects.toThrow('at most 500 are read');
  });
});
