import type { Platform } from '../bot/platform.ts';
import { GatewayPath } from '../contracts/gateway.ts';
import { MonitoringPath } from '../contracts/monitoring.ts';
import { platforms } from './platforms.ts';
import type { Settings } from './settings.ts';

/** The facts that the banner prints once the program is ready. */
export interface Banner {
  version: string;
  settings: Settings;
  /** Address at which others reach the program. */
  url: string;
  listeningUrl: string;
  /** Provider that answers questions; absent when the gateway does not run here. */
  models: { provider: string; description?: string; notes?: string[] } | undefined;
  /** The chat platforms that run. */
  running: readonly Platform[];
  /** Another process has the bot. */
  isStandingBy: boolean;
  /** Keys created at the first start on a terminal; they are shown here and never again. */
  firstKeys: { gateway?: string; monitoring?: string };
  /** A service that runs here has no key yet. */
  lacksKeys: boolean;
}

/** Prints where everything is, to standard output; the log goes to standard error. */
export function printBanner(banner: Banner): void {
  process.stdout.write(`${[...overview(banner), ...keyLines(banner)].join('\n')}\n`);
}

function overview(banner: Banner): string[] {
  const { version, settings, url, listeningUrl, models } = banner;
  const { roles, gateway, monitoring, dataDir, database } = settings;
  const watching = roles.has('monitoring')
    ? 'embedded service'
    : (monitoring?.baseUrl ?? 'nothing');
  return [
    // The clock of `performance` starts with the process.
    `Askwatch ${version} is ready after ${(performance.now() / 1000).toFixed(1)} s.`,
    '',
    ...(listeningUrl === url ? [] : [`  Listens at  ${listeningUrl}`]),
    `  Console     ${consoleText(settings, url)}`,
    `  Models      ${models?.description ?? models?.provider ?? gateway?.baseUrl ?? 'none'}`,
    ...(models?.notes ?? []).map((note) => `              ${note}`),
    `  Monitors    ${watching}`,
    ...platformLines(banner),
    `  Services    ${url}/v1 and ${url}/api/v1/public, documented at ${url}/docs`,
    `  State       ${database ? databaseText(database) : dataDir}`,
    '',
  ];
}

/** Address and schema of a database, without its user and password. */
function databaseText({ url, schema }: NonNullable<Settings['database']>): string {
  const { host, pathname } = new URL(url);
  return `PostgreSQL at ${host}${pathname}, schema ${schema}`;
}

function consoleText({ roles, consolePassword }: Settings, url: string): string {
  if (!roles.has('console')) return 'off (not in ASKWATCH_ROLES)';
  return consolePassword === undefined ? url : `${url} (log in with CONSOLE_PASSWORD)`;
}

/** How the platforms are that have settings of their own, and what is to be done there before they are of use. */
function platformLines({ settings, running, isStandingBy, url }: Banner): string[] {
  return platforms
    .filter(({ variables }) => Object.keys(variables).length > 0)
    .map(({ name, title }) => {
      const line = `  ${title.padEnd(11)} `;
      const one = running.find((platform) => platform.name === name);
      const configured = settings.platforms.get(name);
      if (!configured) return `${line}not configured (see docs/${name}.md)`;
      if (!one) return line + (isStandingBy ? 'standing by; another process is connected' : 'off');
      const note = configured.bannerNote?.(url) ?? '';
      return line + (one.hint?.() ?? 'connected') + note;
    });
}

function keyLines({ firstKeys: { gateway, monitoring }, lacksKeys, url }: Banner): string[] {
  if (!gateway && !monitoring) {
    return lacksKeys
      ? [
          'To call the APIs from other programs, create an API key:',
          '  npx askwatch keys create --service gateway --name <name>',
          '  npx askwatch keys create --service monitoring --name <name>',
          '',
        ]
      : [];
  }
  return [
    'One API key per service, shown only once. Create more with: npx askwatch keys create',
    '',
    ...(gateway
      ? [
          `  Model gateway       ${gateway}`,
          `  curl ${url}${GatewayPath.chatCompletions} -H 'Authorization: Bearer ${gateway}' \\`,
          `    -H 'Content-Type: application/json' -d '{"model":"small-4k","messages":[{"role":"user","content":"Hello"}]}'`,
          '',
        ]
      : []),
    ...(monitoring
      ? [
          `  Monitoring service  ${monitoring}`,
          `  curl ${url}${MonitoringPath.monitors} -H 'X-API-Key: ${monitoring}'`,
          '',
        ]
      : []),
  ];
}
