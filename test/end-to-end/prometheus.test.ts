import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { selfSigned } from '../fakes/certificate.ts';
import { startSlack } from '../fakes/slack/slack.ts';
import { startWebTarget } from '../fakes/web-target.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { socketMode } from '../helpers/end-to-end/slack-program.ts';
import { eventually } from '../helpers/eventually.ts';
import { eventuallyEquals } from '../helpers/eventually-equals.ts';
import { hasPrometheus, startPrometheus } from '../helpers/monitoring/real-prometheus.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

interface Rule {
  alert: string;
  expr: string;
  annotations: Record<string, string>;
}

const rules = (
  parse(read('manifests/prometheus-rules.yaml')) as { groups: Array<{ rules: Rule[] }> }
).groups.flatMap((group) => group.rules);

const dashboard = JSON.parse(read('manifests/grafana-dashboard.json')) as {
  panels: Array<{ title: string; targets?: Array<{ expr: string }> }>;
};

/** Queries of the dashboard, as Grafana sends them. */
const queries = dashboard.panels.flatMap(({ targets = [] }) =>
  targets.map(({ expr }) =>
    expr
      .replaceAll('$job', 'askwatch')
      .replaceAll('$monitor', '.*')
      .replaceAll('$__rate_interval', '1m'),
  ),
);

const metricsIn = (expr: string) => expr.match(/\b(?:askwatch|process)_\w+/g) ?? [];

/** Labels that an expression matches or groups by. */
const labelsIn = (expr: string) => [
  ...[...expr.matchAll(/(\w+)=~?"/g)].map(([, label = '']) => label),
  ...[...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(', ')),
];

/** The program with a monitor of each kind, one of them down, that has answered a question, and a Prometheus that scrapes it. */
async function startWatched() {
  const slack = await startSlack();
  const site = await startWebTarget(undefined, { tls: selfSigned() });
  const down = await startWebTarget();
  await down.stop();
  const dataDir = await temporaryFolder();
  const tags = ['eu', 'shop'];
  const https = { name: 'Site', target: site.url, check_type: 'HTTP', tags };
  const http = { name: 'Shop', target: down.url, check_type: 'HTTP', tags };
  const monitors = {
    site: { ...https, config: { ignore_tls: true } },
    shop: { ...http, config: { confirm_down: 1 } },
  };
  const file = join(dataDir, 'monitors.yaml');
  await writeFile(file, JSON.stringify({ monitors }));
  const askwatch = await startAskwatch({
    dataDir,
    env: { ...socketMode(slack), MONITORS_FILE: file, MONITOR_ALLOW_PRIVATE: '127.0.0.0/8' },
  });
  const key = await askwatch.createKey('monitoring');
  const post = async (path: string, token: string, body: object) => {
    const answer = await fetch(askwatch.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as { push_url?: string };
  };
  const job = { name: 'Backup', target: 'backup', check_type: 'HEARTBEAT' };
  const { push_url = '' } = await post('/api/v1/public/monitors', key, job);
  await fetch(push_url);
  const messages = [{ role: 'user', content: 'Hello' }];
  const gatewayKey = await askwatch.createKey('gateway');
  const chat = () => post('/v1/chat/completions', gatewayKey, { model: 'small-4k', messages });
  await chat();
  return { askwatch, chat, prometheus: await startPrometheus(askwatch.url, key) };
}

describe.skipIf(!hasPrometheus)('with a real Prometheus', () => {
  test('the rules fire for a monitor that is down, and once the program is gone', async () => {
    const { askwatch, prometheus } = await startWatched();
    const firing = async () => (await prometheus.firing()).map(({ labels }) => labels.alertname);
    const alert = await eventually(async () => {
      const alerts = await prometheus.firing();
      return alerts.find(({ labels }) => labels.alertname === 'AskwatchMonitorDown');
    });
    expect(alert.labels).toMatchObject({ name: 'Shop', tags: 'eu,shop', severity: 'critical' });
    expect(alert.annotations.summary).toBe('Shop is down');
    expect(await firing()).toEqual(['AskwatchMonitorDown']);
    await askwatch.stop();
    await eventually(async () => (await firing()).join() === 'AskwatchAbsent');
  });

  test('every query of the dashboard returns something', async () => {
    const { chat, prometheus } = await startWatched();
    // A rate needs two scrapes with different totals.
    const emptyQueries = async () => {
      await chat();
      const results = await Promise.all(queries.map(prometheus.query));
      return queries.filter((_, at) => results[at]?.length === 0);
    };
    expect(queries.length).toBeGreaterThan(20);
    await eventuallyEquals(emptyQueries, [], { everyMs: 500 });
  });

  test('the rules and the dashboard use only metrics and labels that exist', async () => {
    const { askwatch, prometheus } = await startWatched();
    const declared = await eventually(async () => {
      const series = await prometheus.query('{job="askwatch"}');
      return series.some(({ __name__: name }) => name === 'askwatch_checks_total') && series;
    });
    const labelsOf = (metric: string) =>
      declared.filter(({ __name__: name }) => name === metric).flatMap(Object.keys);
    const shown = rules.flatMap(({ expr, annotations }) =>
      [...JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)].map(
        ([, label = '']): [string, string] => [expr, label],
      ),
    );
    const used = [...rules.map(({ expr }) => expr), ...queries].flatMap((expr) =>
      labelsIn(expr).map((label): [string, string] => [expr, label]),
    );
    const unknown = [...shown, ...used].filter(
      ([expr, label]) => !metricsIn(expr).some((metric) => labelsOf(metric).includes(label)),
    );
    expect(unknown).toEqual([]);
    const metrics = [...rules.map(({ expr }) => expr), ...queries].flatMap(metricsIn);
    expect(metrics.filter((metric) => labelsOf(metric).length === 0)).toEqual([]);
    expect(askwatch.output()).not.toContain('"level":50');
  });
});
