// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Files hold variables in this form.
import { describe, expect, test } from 'vitest';
import { readTexts } from '../../helpers/monitoring/provisioning/read-text.ts';

/** A monitor, with lines below it. */
const shop = (...lines: string[]) =>
  [
    'monitors:',
    '  shop:',
    '    target: https://shop.example',
    '    check_type: HTTP',
    ...lines,
  ].join('\n');
const config = (...lines: string[]) => shop('    config:', ...lines.map((line) => `      ${line}`));

/** A problem, the file with ‹ before its position, and the expected message. */
const BROKEN: Array<[what: string, text: string, said: RegExp]> = [
  // No YAML.
  ['a tab as indent', 'monitors:\n‹\tshop: {}', /not valid YAML.*spaces, not with tabs/],
  ['an open bracket', 'monitors:\n  shop: {target: [1, 2‹', /not valid YAML.*close every bracket/],
  [
    'an open quote',
    'monitors:\n  shop:\n    target: "https://x‹',
    /not valid YAML.*close all quotes/,
  ],
  [
    'a bad indent',
    shop('‹   name: Shop'),
    /not valid YAML.*indent lines that belong together equally/,
  ],
  ['a text that begins with @', shop('    name: ‹@shop'), /not valid YAML.*in quotes/],
  [
    'a text that begins with %',
    'monitors:\n  shop:\n    target: ‹`x`',
    /not valid YAML.*in quotes/,
  ],
  ['a bad escape', shop('    name: "a‹\\q"'), /not valid YAML.*backslash/],
  ['an unknown tag', shop('    name: ‹!vault abc'), /not valid YAML.*word that begins with !/],
  ['an unknown alias', shop('    config: ‹*defaults'), /nothing above is marked &defaults/],
  ['two documents', `${shop()}\n‹---\nmonitors: {}`, /only one document/],
  ['a key that is a list', 'monitors:\n  ? ‹[a, b]\n  : {}', /a key must be a single word/],
  // No file of monitors.
  ['an empty file', '‹', /the file is empty; write monitors:/],
  ['another key', '‹monitor: {}', /unknown field 'monitor'\. Did you mean 'monitors'\?/],
  ['no monitors', '‹x-defaults: {}', /'monitors' is missing/],
  ['monitors as a list', 'monitors:\n  ‹- target: https://shop.example', /must be an object/],
  // Keys.
  ['a key with a space', 'monitors:\n  ‹my shop: {}', /'my shop' is not a valid key/],
  [
    'a key twice',
    `${shop()}\n  ‹shop: {target: x, check_type: HTTP}`,
    /'shop' appears twice, first in line 2/,
  ],
  [
    'a field twice',
    shop('    ‹target: https://other.example'),
    /'target' appears twice, first in line 3/,
  ],
  ['a monitor as a text', 'monitors:\n  shop: ‹https://shop.example', /shop must be an object/],
  ['a monitor that is nothing', 'monitors:\n  ‹shop:', /shop must be an object/],
  // Fields.
  [
    'no target',
    'monitors:\n  ‹shop:\n    check_type: HTTP',
    /'target' is missing; write target: https/,
  ],
  [
    'no kind',
    'monitors:\n  ‹shop:\n    target: https://shop.example',
    /'check_type' is missing\. Use HTTP, KEYWORD/,
  ],
  ['an unknown field', shop('    ‹chanels: ["slack:C0123"]'), /Did you mean 'channels'/],
  [
    'a setting beside config',
    shop('    ‹interval_seconds: 30'),
    /This is a setting; put it under config/,
  ],
  [
    'an unknown kind',
    'monitors:\n  shop:\n    target: https://shop.example\n    check_type: ‹HTPP',
    /unknown type\. Did you mean 'HTTP'\? Use HTTP, /,
  ],
  [
    'a number as a target',
    'monitors:\n  shop:\n    target: ‹8080\n    check_type: HTTP',
    /target: must be a string/,
  ],
  [
    'a target without a scheme',
    'monitors:\n  shop:\n    target: ‹shop.example\n    check_type: HTTP',
    /full http or https URL/,
  ],
  [
    'a name that is too long',
    shop(`    name: ‹${'x'.repeat(201)}`),
    /name: must have at most 200 characters/,
  ],
  // Settings.
  [
    'a setting that is none',
    config('‹intervall_seconds: 30'),
    /Did you mean 'interval_seconds'\? HTTP has interval_seconds/,
  ],
  ['a text for a number', config('interval_seconds: ‹often'), /interval_seconds: must be a number/],
  [
    'a duration for a number',
    config('interval_seconds: ‹5m'),
    /interval_seconds: must be a number of seconds, such as 300 for 5m/,
  ],
  ['a word for a truth', config('follow_redirects: ‹no'), /must be true or false/],
  ['config as a list', shop('    config: ‹[1]'), /must be an object/],
  [
    'a crontab that is none',
    'monitors:\n  job:\n    target: backup\n    check_type: HEARTBEAT\n    config:\n      cron: ‹"61 * * * *"',
    /minute/,
  ],
  // Channels, dependencies, windows, ids.
  ['channels as a text', shop('    channels: ‹slack:C0123'), /must be a list of channels/],
  [
    'a channel without a platform',
    shop('    channels: [‹general]'),
    /must be a channel with its platform/,
  ],
  [
    'an unknown platform',
    shop('    channels: ["slack:C1", ‹"slak:C0123"]'),
    /unknown platform 'slak'\. Did you mean 'slack'/,
  ],
  ['a number as a channel', shop('    channels: [‹12]'), /must be a string, such as slack:C0123/],
  [
    'a dependency that is not there',
    shop('    depends_on: [‹shpo]'),
    /no monitor has the key 'shpo'\. Did you mean 'shop'/,
  ],
  [
    'a tag with a space',
    shop('    tags: [eu, ‹my shop]'),
    /tags: “my shop” isn't a valid tag.*such/,
  ],
  ['tags as a text', shop('    tags: ‹eu'), /tags: must be a list of tags, such as/],
  [
    'a runbook as a list',
    shop('    runbook: ‹[look]'),
    /runbook: must be an address or text, such/,
  ],
  [
    'a runbook that is too long',
    shop(`    runbook: ‹${'x'.repeat(4_097)}`),
    /runbook: must have at most 4096 bytes/,
  ],
  ['a dependency on itself', shop('    depends_on: [‹shop]'), /cannot depend on itself/],
  [
    'a window that ends before it starts',
    shop(
      '    maintenance:',
      '      - starts_at: 2026-12-01T10:00:00Z',
      '        ends_at: ‹2026-12-01T09:00:00Z',
    ),
    /must be after starts_at/,
  ],
  [
    'a window without an end',
    shop('    maintenance:', '      - ‹starts_at: 2026-12-01T10:00:00Z'),
    /'ends_at' is missing/,
  ],
  [
    'a window in no known zone',
    shop(
      '    maintenance:',
      '      - cron: 0 3 * * 0',
      '        timezone: ‹Europe/Berln',
      '        duration_minutes: 30',
    ),
    /zone/,
  ],
  ['an id that is none', shop('    id: ‹[1]'), /must be the ID of a monitor as listed/],
  // Variables.
  [
    'a variable that is not set',
    shop('    name: ‹${SHOP_NAME}'),
    /SHOP_NAME is not set; set it where Askwatch is started/,
  ],
  [
    'a variable with a default',
    shop('    name: ‹"${SHOP_NAME:-Shop}"'),
    /write a variable as \$\{NAME\}/,
  ],
  [
    'a secret of the program',
    config('headers:', '  Authorization: ‹${SLACK_BOT_TOKEN}'),
    /one of Askwatch's own secrets/,
  ],
  [
    'a secret where all see it',
    shop('    name: ‹Shop ${SHOP_TOKEN}'),
    /SHOP_TOKEN looks like a secret and would be visible/,
  ],
  [
    'a secret in a header that is shown',
    config('headers:', '  X-Shop: ‹${SHOP_TOKEN}'),
    /would be visible here; put it into a header/,
  ],
  [
    'a secret in a path',
    'monitors:\n  shop:\n    target: ‹https://shop.example/${SHOP_TOKEN}\n    check_type: HTTP',
    /would be visible here/,
  ],
  [
    'a secret in a name by an alias',
    `x-common: {token: &token "\${SHOP_TOKEN}"}\n${shop('    name: ‹*token')}`,
    /would be visible here/,
  ],
  [
    'a secret in a name by a merge',
    `x-common: &common {name: ‹"\${SHOP_TOKEN}"}\n${shop('    <<: *common')}`,
    /would be visible here/,
  ],
  [
    "a secret of another monitor's hidden header",
    `${config('headers: {Authorization: &token "${SHOP_TOKEN}"}')}\n  cart:\n    target: https://shop.example\n    check_type: KEYWORD\n    config: {target_keyword: ‹*token}`,
    /would be visible here/,
  ],
  [
    'a secret in a window by an alias',
    `x-token: &token "\${SHOP_TOKEN}"\n${shop(
      '    maintenance:',
      '      - {starts_at: 2026-12-01T22:00, timezone: UTC, duration_minutes: 9, reason: ‹*token}',
    )}`,
    /would be visible here/,
  ],
  [
    'a secret of which only a part would be hidden',
    'monitors:\n  shop:\n    target: ‹https://shop.example/?token=${PAIR_TOKEN}\n    check_type: HTTP',
    /would be visible here/,
  ],
  [
    'a secret in a runbook',
    shop('    runbook: ‹https://ops:${SHOP_TOKEN}@wiki.example'),
    /would be visible here/,
  ],
  [
    'a secret in a list',
    shop('    channels: [‹"${SHOP_TOKEN}:C0123"]'),
    /^the value of SHOP_TOKEN looks like a secret and would be visible here/,
  ],
];

const CONTEXT = {
  env: {
    SHOP_TOKEN: 'swordfish',
    PAIR_TOKEN: 'sword&fish=herring',
    SLACK_BOT_TOKEN: 'xoxb-swordfish',
  },
  taboo: ['SLACK_BOT_TOKEN'],
};

describe('a broken file', () => {
  test.each(BROKEN)(
    'with %s is refused where that stands, with what to write',
    async (_what, marked, said) => {
      const before = marked.slice(0, marked.indexOf('‹'));
      const text = marked.replace('‹', '');
      const { problems } = await readTexts({ 'monitors.yaml': text }, CONTEXT);
      expect(problems.map(({ message }) => message)).toEqual([expect.stringMatching(said)]);
      const lines = before.split('\n');
      expect(problems[0]).toMatchObject({
        file: 'monitors.yaml',
        line: lines.length,
        column: (lines.at(-1) ?? '').length + 1,
      });
      expect(problems[0]?.message).not.toMatch(/swordfish|undefined|\.$/);
    },
  );

  test('is told all that is wrong with it at once, but no more than a hundred things', async () => {
    const text = shop('    nme: Shop', '    channels: [general]', '    depends_on: [nothing]');
    const { problems } = await readTexts({ 'monitors.yaml': text });
    expect(problems.map(({ line }) => line)).toEqual([5, 6]);
    const many = `monitors:\n${Array.from({ length: 300 }, (_, at) => `  k${at}: {}\n`).join('')}`;
    const all = (await readTexts({ 'monitors.yaml': many })).problems;
    expect(all).toHaveLength(101);
    expect(all.at(-1)?.message).toContain('only the first 100 are shown');
  });

  test('holds a key that another file holds', async () => {
    const { problems } = await readTexts({ 'a.yaml': shop(), 'b.yaml': `# again\n${shop()}` });
    expect(problems).toEqual([
      {
        file: 'b.yaml',
        line: 3,
        column: 3,
        message: 'shop is already declared in a.yaml, line 2; give one of them another key',
      },
    ]);
  });

  test('holds a circle of dependencies', async () => {
    const one = (key: string, onto: string) =>
      `  ${key}: {target: https://x.example, check_type: HTTP, depends_on: [${onto}]}`;
    const text = ['monitors:', one('a', 'b'), one('b', 'c'), one('c', 'b')].join('\n');
    const { problems } = await readTexts({ 'monitors.yaml': text });
    expect(problems.map(({ line, message }) => [line, message])).toEqual([
      [3, 'these depend on one another in a circle: b → c → b; remove one of them'],
    ]);
  });

  test('holds more monitors than a service', async () => {
    const lines = Array.from(
      { length: 10_001 },
      (_, at) => `  k${at}: {target: "https://x.example/${at}", check_type: HTTP}`,
    );
    const { problems } = await readTexts({ 'monitors.yaml': ['monitors:', ...lines].join('\n') });
    expect(problems.map(({ line }) => line)).toEqual([10_002]);
  });
});
