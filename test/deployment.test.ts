import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readSettings, variables } from '../src/app/settings.ts';
import { createProbe } from '../src/monitoring/connectivity/probe.ts';
import { lettingIn, readDockerfile } from './helpers/end-to-end/dockerfile.ts';
import { temporaryFolder } from './helpers/temporary-folder.ts';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

const { version } = JSON.parse(read('package.json'));
const settings = new Set(variables.map(({ name }) => name));

/** The program's own time limit, in seconds. */
const STOP_SECONDS =
  Number(/STOP_LIMIT_MS = ([\d_]+)/.exec(read('src/main.ts'))?.[1]?.replace('_', '')) / 1000;
const READY_SECONDS =
  Number(/READY_DEADLINE_MS = ([\d_]+)/.exec(read('src/http/server.ts'))?.[1]?.replace('_', '')) /
  1000;

const DRAIN_SECONDS =
  Number(/ DRAIN_MS = ([\d_]+)/.exec(read('src/http/server.ts'))?.[1]?.replace('_', '')) / 1000;

const dockerfile = readDockerfile(read('Dockerfile'));
const said = (name: string) =>
  dockerfile.filter((one) => one.name === name).map(({ text }) => text);
const [user = ''] = said('USER');
const imageEnv = Object.fromEntries(
  [
    ...said('ENV')
      .join(' ')
      .matchAll(/(\w+)=(\S+)/g),
  ].map(([, name, value]) => [name, value]),
) as Record<string, string>;

// biome-ignore lint/suspicious/noExplicitAny: what it has to be is what is tested
type Yaml = any;
const compose: Yaml = parse(read('compose.yaml'), { merge: true });
const kubernetes: Yaml[] = parse(
  read('manifests/kubernetes/base/kustomization.yaml'),
).resources.map((path: string) => parse(read(`manifests/kubernetes/base/${path}`)));
const ofKind = (kind: string) => kubernetes.find((one) => one.kind === kind);
const serviceMonitor: Yaml = parse(read('manifests/kubernetes/prometheus/service-monitor.yaml'));

/** Not in CI: Debian's package is older than kustomize's components. */
const hasKubectl = spawnSync('kubectl', ['kustomize', '--help']).status === 0;

test('The program says how long it takes to stop, to say whether it is ready, and to be heard', () => {
  expect([STOP_SECONDS, READY_SECONDS, DRAIN_SECONDS]).toEqual([10, 3, 3]);
});

test('The Dockerfile fits the program', () => {
  expect(said('ARG')).toEqual(['NODE_IMAGE=node:24-slim']);
  expect(said('FROM').filter((from) => !/\$\{NODE_IMAGE\}/.test(from))).toEqual([]);
  expect(user).toBe('10001:10001');
  const { NODE_ENV, ...env } = imageEnv;
  expect(NODE_ENV).toBe('production');
  expect(Object.keys(env).filter((name) => !settings.has(name))).toEqual([]);
  expect(() => readSettings(env)).toThrow(/^CONSOLE_PASSWORD: /);
  const { dataDir, host, port } = readSettings({ ...env, CONSOLE_PASSWORD: 'correct horse' });
  expect([host, String(port), dataDir]).toEqual(['0.0.0.0', said('EXPOSE')[0], said('VOLUME')[0]]);
  expect(port).toBe(readSettings({}).port);
  expect(said('HEALTHCHECK')[0]).toContain('/healthz');
  expect(JSON.parse(said('ENTRYPOINT')[0] ?? '')[0]).toBe('node');
  expect(said('CMD')).toEqual(['["start"]']);
  expect(said('LABEL')[0]).toContain(`image.version="${version}"`);
});

test('The image is built from what it needs, and no secret gets into it', () => {
  const isIn = lettingIn(read('.dockerignore'));
  const needed = ['package.json', 'package-lock.json', 'tsconfig.json', 'src/main.ts', 'LICENSE'];
  const packed = ['docs/settings.md', 'manifests/slack.json', '.env.example', 'README.md'];
  expect([...needed, ...packed].filter((path) => !isIn(path))).toEqual([]);
  const kept = [
    '.env',
    '.git/config',
    'data/secret.key',
    'node_modules/x/index.js',
    'dist/main.js',
  ];
  const unused = ['test/smoke.mjs', 'bench/bench.ts', 'docs/images/ask-dark.png', 'compose.yaml'];
  expect([...kept, ...unused].filter(isIn)).toEqual([]);
});

/** A text with its variables filled in as compose does, where these have a value. */
function filledIn(text: string, values: Record<string, string> = {}): string {
  return text.replace(/\$\{(\w+)(:[-?])([^}]*)\}/g, (_, name, how, otherwise) => {
    const value = values[name];
    if (value) return value;
    if (how === ':-') return otherwise;
    throw new Error(`${name}: ${otherwise}`);
  });
}

const secrets = { CONSOLE_PASSWORD: 'correct horse', POSTGRES_PASSWORD: 'battery' };
const replicas = ['askwatch-1', 'askwatch-2'];
const environment = (name: string, values: Record<string, string>) =>
  Object.fromEntries(
    Object.entries<string>(compose.services[name].environment).map(([variable, text]) => [
      variable,
      filledIn(text, values),
    ]),
  );

test.each(replicas)('compose.yaml starts %s as the program has it', (name) => {
  const env = environment(name, secrets);
  expect(Object.keys(env).filter((variable) => !settings.has(variable))).toEqual([]);
  const { database, host, internalUrl, port, publicUrl, trustedProxies } = readSettings({
    ...imageEnv,
    ...env,
  });
  expect(new URL(database?.url ?? '')).toMatchObject({ hostname: 'database', password: 'battery' });
  expect([host, publicUrl]).toEqual(['0.0.0.0', 'https://localhost']);
  expect(internalUrl).toBe(`http://${name}:${port}`);
  expect(trustedProxies).toEqual([compose.services.proxy.networks.front.ipv4_address]);
  const { hostname, read_only, stop_grace_period, ports } = compose.services[name];
  expect([hostname, read_only, ports]).toEqual([name, true, undefined]);
  expect(Number.parseInt(stop_grace_period, 10)).toBeGreaterThan(STOP_SECONDS);
});

test('compose.yaml has no secret of its own, and says how to make up those it asks for', () => {
  for (const name of Object.keys(secrets)) {
    const without = { ...secrets, [name]: '' };
    expect(() => environment('askwatch-1', without)).toThrow(/^\w+: Set it in \.env.*openssl/);
  }
  for (const password of [
    compose.services.database.environment.POSTGRES_PASSWORD,
    compose.services.backup.environment.PGPASSWORD,
  ]) {
    expect(() => filledIn(password)).toThrow('Set it in .env');
  }
  const defaults = [...read('compose.yaml').matchAll(/(?<!\$)\$\{(\w+)\b(?!:\?)/g)].map(
    ([, name]) => name,
  );
  expect(new Set(defaults)).toEqual(new Set(['PUBLIC_URL', 'MONITOR_NETWORK_ANCHORS']));
});

test('compose.yaml lets nobody in but through the proxy, which has an address that nothing else gets', () => {
  const services = Object.entries<Yaml>(compose.services);
  expect(services.filter(([, { ports }]) => ports).map(([name]) => name)).toEqual(['proxy']);
  const networks = (name: string) => [compose.services[name].networks].flat();
  expect([networks('database'), networks('backup')]).toEqual([['back'], ['back']]);
  expect(Object.keys(compose.services.proxy.networks)).toEqual(['front']);
  expect(compose.networks.back.internal).toBe(true);
  const [{ subnet, ip_range }] = compose.networks.front.ipam.config;
  const host = Number(compose.services.proxy.networks.front.ipv4_address.split('.').at(-1));
  expect([subnet, ip_range]).toEqual(['10.203.57.0/24', '10.203.57.128/25']);
  expect([host > 1, host < 128]).toEqual([true, true]);
});

test('compose.yaml has the proxy ask for readiness, at every process and its port', () => {
  const caddyfile = filledIn(compose.configs.caddyfile.content);
  const upstreams = /reverse_proxy (.*) \{/.exec(caddyfile)?.[1]?.split(' ');
  expect(upstreams).toEqual(replicas.map((name) => `${name}:${environment(name, secrets).PORT}`));
  expect(caddyfile).toContain('health_uri /readyz\n');
  const seconds = (name: string) => Number(new RegExp(`${name} (\\d+)s`).exec(caddyfile)?.[1]);
  expect(seconds('health_timeout')).toBeGreaterThan(READY_SECONDS);
  expect(seconds('health_interval')).toBeLessThan(DRAIN_SECONDS);
  expect(Number(/^postgres:(\d+)$/.exec(compose.services.database.image)?.[1])).toBeGreaterThan(14);
});

test('compose.yaml limits the memory, processors, processes and log of every service', () => {
  for (const [name, service] of Object.entries<Yaml>(compose.services)) {
    const { mem_limit, cpus, pids_limit, logging } = service;
    expect([name, mem_limit, cpus, pids_limit]).toEqual([
      ...[name, expect.stringMatching(/^\d+[mg]$/), expect.any(Number), expect.any(Number)],
    ]);
    expect(logging.options).toEqual({ 'max-size': '10m', 'max-file': '3' });
  }
});

test('compose.yaml starts each service once the ones that it needs are healthy', () => {
  const needs = Object.entries<Yaml>(compose.services).flatMap(([name, { depends_on = {} }]) =>
    Object.entries<Yaml>(depends_on).map(([other, { condition }]) => [name, other, condition]),
  );
  expect(needs).toEqual([
    ...replicas.map((name) => [name, 'database', 'service_healthy']),
    ['backup', 'database', 'service_healthy'],
    ...replicas.map((name) => ['proxy', name, 'service_healthy']),
  ]);
});

test('compose.yaml lets the program tell whether its own network works', () => {
  const { networkAnchors } = readSettings({ ...imageEnv, ...environment('askwatch-1', secrets) });
  expect(createProbe({ anchors: networkAnchors }).canTell()).toBe(true);
});

test('manifests/kubernetes runs the image as it is built, with settings from a secret', () => {
  const { spec } = ofKind('Deployment').spec.template;
  const [container] = spec.containers;
  const { runAsUser, runAsGroup, runAsNonRoot } = spec.securityContext;
  expect([`${runAsUser}:${runAsGroup}`, runAsNonRoot]).toEqual([user, true]);
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  expect(container.image).toBe(`askwatch:${version}`);
  expect(container.envFrom).toEqual([{ secretRef: { name: 'askwatch' } }]);
  const [address] = container.env.filter(({ valueFrom }: Yaml) => valueFrom);
  expect(address).toMatchObject({ valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } });
  const ownIp = '10.0.0.7';
  const env = Object.fromEntries(
    container.env
      .filter(({ value }: Yaml) => value !== undefined)
      .map(({ name, value }: Yaml) => [name, value.replace(`$(${address.name})`, ownIp)]),
  );
  expect(Object.keys(env).filter((name) => !settings.has(name))).toEqual([]);
  const given = { CONSOLE_PASSWORD: 'correct horse', DATABASE_URL: 'postgres://a:b@c:5432/d' };
  const { host, port, internalUrl } = readSettings({ ...imageEnv, ...given, ...env });
  expect([host, port]).toEqual(['0.0.0.0', container.ports[0].containerPort]);
  expect(internalUrl).toBe(`http://${ownIp}:${port}`);
});

test('manifests/kubernetes asks what the program answers, and gives it the time that it takes to stop', () => {
  const { spec } = ofKind('Deployment').spec.template;
  const [{ startupProbe, livenessProbe, readinessProbe, lifecycle, ports }] = spec.containers;
  const [{ name: port }] = ports;
  const [alive, ready] = ['/healthz', '/readyz'].map((path) => ({ path, port }));
  expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet)).toEqual([
    ...[alive, alive, ready],
  ]);
  expect(readinessProbe.timeoutSeconds).toBeGreaterThan(READY_SECONDS);
  const { seconds } = lifecycle.preStop.sleep;
  expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(seconds + STOP_SECONDS);
});

test('manifests/kubernetes selects the same pods in every part, and never has all of them away', () => {
  const { selector, template, strategy, replicas: count } = ofKind('Deployment').spec;
  const { labels } = template.metadata;
  const service = ofKind('Service').spec;
  const budget = ofKind('PodDisruptionBudget').spec;
  const policy = ofKind('NetworkPolicy').spec;
  for (const selected of [
    selector.matchLabels,
    service.selector,
    budget.selector.matchLabels,
    policy.podSelector.matchLabels,
    policy.ingress[0].from[0].podSelector.matchLabels,
    ofKind('Service').metadata.labels,
    serviceMonitor.spec.selector.matchLabels,
  ]) {
    expect(selected).toEqual(labels);
  }
  for (const { labelSelector } of template.spec.topologySpreadConstraints) {
    expect(labelSelector.matchLabels).toEqual(labels);
  }
  const [{ name: port }] = template.spec.containers[0].ports;
  expect([service.ports[0].targetPort, policy.ingress[0].ports[0].port]).toEqual([port, port]);
  const [{ backend }] = ofKind('Ingress').spec.rules[0].http.paths;
  expect([backend.service.name, backend.service.port.name]).toEqual([
    ofKind('Service').metadata.name,
    service.ports[0].name,
  ]);
  expect(serviceMonitor.spec.endpoints[0].port).toBe(service.ports[0].name);
  expect(strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 });
  expect(budget.maxUnavailable).toBeLessThan(count);
});

test('manifests/kubernetes/example has every setting that a pod needs, and refuses to start unchanged', () => {
  const env = parseEnv(read('manifests/kubernetes/example/askwatch.env')) as NodeJS.ProcessEnv;
  expect(Object.keys(env).filter((name) => !settings.has(name))).toEqual([]);
  expect(() => readSettings({ ...imageEnv, ...env })).toThrow(
    /DATABASE_URL: [\s\S]*CONSOLE_PASSWORD: /,
  );
  const changed = { CONSOLE_PASSWORD: 'correct horse', DATABASE_URL: 'postgres://a:b@c:5432/d' };
  expect(() => readSettings({ ...imageEnv, ...env, ...changed })).not.toThrow();
});

test.skipIf(!hasKubectl)(
  'kubectl renders manifests/kubernetes/example, with and without Prometheus',
  async () => {
    const folder = await temporaryFolder();
    await cp(new URL('../manifests/kubernetes', import.meta.url), folder, { recursive: true });
    const render = () =>
      parseAllDocuments(
        String(execFileSync('kubectl', ['kustomize', join(folder, 'example')])),
      ).map((document) => document.toJS() as Yaml);
    const rendered = render();
    expect(rendered.map(({ kind }) => kind).sort()).toEqual(
      [...kubernetes.map(({ kind }) => kind), 'Secret'].sort(),
    );
    const find = (kind: string) => rendered.find((one) => one.kind === kind);
    const [container] = find('Deployment').spec.template.spec.containers;
    expect(container.envFrom[0].secretRef.name).toBe(find('Secret').metadata.name);
    expect(container.image).toBe(`registry.example.com/askwatch:${version}`);
    expect(find('Ingress').spec.ingressClassName).toBe('nginx');
    const file = join(folder, 'example/kustomization.yaml');
    const text = await readFile(file, 'utf8');
    await writeFile(
      file,
      text.replace('# components:', 'components:').replace('#   - ../pro', '  - ../pro'),
    );
    expect(render().map(({ kind }) => kind)).toContain('ServiceMonitor');
  },
);

test('docs/metrics.md explains every rule of manifests/prometheus-rules.yaml', () => {
  const { groups }: Yaml = parse(read('manifests/prometheus-rules.yaml'));
  const rules = groups.flatMap((group: Yaml) => group.rules.map(({ alert }: Yaml) => alert));
  const explained = read('docs/metrics.md').matchAll(/^\| `(Askwatch\w+)` \|/gm);
  expect([...explained].map(([, alert]) => alert)).toEqual(rules);
});

test('manifests/grafana-dashboard.json asks the data source that its reader chooses', () => {
  const { panels, templating }: Yaml = JSON.parse(read('manifests/grafana-dashboard.json'));
  const [source, ...others] = templating.list;
  expect([source.name, source.type, source.query]).toEqual([
    ...['datasource', 'datasource', 'prometheus'],
  ]);
  const shown = panels.filter(({ type }: Yaml) => type !== 'row');
  for (const { datasource } of [...others, ...shown]) {
    expect(datasource).toEqual({ type: 'prometheus', uid: `$\{${source.name}}` });
  }
});

test('manifests/grafana-dashboard.json places no panel over another one', () => {
  const { panels }: Yaml = JSON.parse(read('manifests/grafana-dashboard.json'));
  const ids = panels.map(({ id }: Yaml) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }: Yaml) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(cells.filter((cell: string) => Number(cell.split(',')[0]) >= 24)).toEqual([]);
});
