import { describe, expect, test } from 'vitest';
import { importMonitors } from '../../../src/cli/import/import-monitors.ts';
import { readTexts } from '../../helpers/monitoring/provisioning/read-text.ts';

const GATUS = `
alerting: {}
endpoints:
  - name: front end
    group: core
    url: "https://front.example/health"
    interval: 30s
    conditions:
      - "[STATUS] == any(200, 429)"
      - "[RESPONSE_TIME] < 500"
      - "[CERTIFICATE_EXPIRATION] > 48h"
      - "[BODY].status == UP"
      - "[BODY].queue[0].depth < 100"
      - "len([BODY].queue) > 1"
    headers: {Authorization: "Bearer \${TOKEN}", Host: front}
    client: {timeout: 5s, insecure: true}
    alerts: [{type: slack}]
  - {name: text, url: "https://text.example", conditions: ["[STATUS] < 300", "[BODY] == pat(*ready*)"]}
  - name: dns
    url: "8.8.8.8"
    dns: {query-name: example.com, query-type: A}
    conditions: ["[BODY] == 93.184.216.34", "[DNS_RCODE] == NOERROR"]
  - {name: db, url: "tcp://db.example:5432", conditions: ["[CONNECTED] == true", "[BODY] == x"]}
  - {name: mail, url: "tls://mail.example:465", conditions: ["[CERTIFICATE_EXPIRATION] > 240h"]}
  - {name: ssh, url: "ssh://host:22", conditions: ["[CONNECTED] == true"]}
  - {name: off, url: "https://off.example", enabled: false}
`;

describe('an import', () => {
  test('from Gatus says what it can, and in comments what it cannot', async () => {
    const text = await importMonitors('gatus', { name: 'gatus.yaml', text: GATUS });
    const { monitors, problems } = await readTexts({ a: text }, { env: { TOKEN: 'swordfish' } });
    expect(problems).toEqual([]);
    expect(monitors.map(({ key, definition: { check_type } }) => [key, check_type])).toEqual([
      ['core/front-end', 'HTTP'],
      ['text', 'KEYWORD'],
      ['dns', 'DNS'],
      ['db', 'TCP'],
      ['mail', 'TCP'],
    ]);
    const [front, keyword, dns, port, mail] = monitors.map(({ definition }) => definition);
    expect(front).toMatchObject({
      ...{ name: 'core/front end', target: 'https://front.example/health', tags: ['core'] },
      config: {
        ...{ interval_seconds: 30, timeout_seconds: 5, ignore_tls: true, tls_expiry_days: 2 },
        ...{ expected_status: '200,429', degraded_after_ms: 500 },
        headers: { Authorization: 'Bearer swordfish' },
        json: 'status == "UP"',
      },
    });
    expect(keyword?.config).toMatchObject({ target_keyword: 'ready', expected_status: '100-299' });
    expect(dns).toMatchObject({
      target: 'example.com',
      config: { resolver: '8.8.8.8', record_type: 'A', expected: ['93.184.216.34'] },
    });
    expect(text).toContain('# not imported: alerts');
    expect(port).toMatchObject({ target: 'db.example:5432', config: { tls: false } });
    expect(mail).toMatchObject({
      target: 'mail.example:465',
      config: { tls: true, tls_expiry_days: 10 },
    });
    for (const condition of ['[BODY].queue[0].depth < 100', 'len([BODY].queue) > 1']) {
      expect(text).toContain(`# not imported: ${condition}`);
    }
    expect(text).toContain('# not imported: [BODY] == x');
    expect(text).toMatch(
      /# Not imported \(2\):\n# ssh: its type of check \(ssh\).*\n# off: it is disabled/,
    );
  });

  test('from file_sd has a monitor for each target', async () => {
    const groups = [
      { targets: ['https://a.example/x', 'b.example:9100', 'c'], labels: { job: 'web' } },
      { targets: ['https://a.example/x'] },
    ];
    const text = await importMonitors('file_sd', { name: 'sd.json', text: JSON.stringify(groups) });
    const { monitors, problems } = await readTexts({ a: text });
    expect(problems).toEqual([]);
    expect(monitors.map(({ key, definition: { target } }) => [key, target])).toEqual([
      ['a.example/x', 'https://a.example/x'],
      ['b.example-9100', 'http://b.example:9100/'],
      ['a.example/x-2', 'https://a.example/x'],
    ]);
    expect(text).toContain('# labels: job=web');
    expect(text).toContain('# c: it has neither a scheme nor a port');
  });

  test.each([
    ['gatus', '- a', 'this is not a Gatus configuration'],
    ['file_sd', 'endpoints: []', 'this is not a Prometheus file_sd file'],
    ['gatus', 'endpoints: [', 'this is not valid YAML'],
  ] as const)('from %s refuses %s', async (from, text, said) => {
    await expect(importMonitors(from, { name: 'x.yaml', text })).rejects.toThrow(said);
  });

  test('cannot be made to end its comments', async () => {
    const name = 'a\nmonitors: {evil: {}}';
    const text = await importMonitors('gatus', {
      name: 'x.yaml',
      text: JSON.stringify({ endpoints: [{ name, url: 'ssh://x', conditions: [] }] }),
    });
    expect((await readTexts({ a: text })).monitors).toEqual([]);
  });
});
