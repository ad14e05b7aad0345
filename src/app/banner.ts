import { GatewayPath } from '../contracts/gateway.ts';
import { MonitoringPath } from '../contracts/monitoring.ts';

/** What a person is told once the program is ready. */
export interface Banner {
  version: string;
  seconds: number;
  /** Where others reach it. */
  url: string;
  listeningUrl: string;
  /** Whether the console is there, and whether it asks for its password. */
  console: 'off' | 'open' | 'login';
  /** Who answers questions. */
  models: { provider: string; description?: string; notes?: string[] };
  watching: string;
  dataDir: string;
  /** Chat platforms; `hint` is what is to be done there before it is of use. */
  platforms: ReadonlyArray<{
    title: string;
    isRunning: boolean;
    hint: string | undefined;
    bannerNote: ((url: string) => string) | undefined;
  }>;
  /** Keys made at the first start; they are shown here and never again. */
  firstKeys: { gateway?: string; monitoring?: string };
}

/** Prints where everything is, to standard output; the log goes to standard error. */
export function printBanner(banner: Banner): void {
  process.stdout.write(`${[...overview(banner), ...keyLines(banner)].join('\n')}\n`);
}

const CONSOLE: Record<Banner['console'], (url: string) => string> = {
  off: () => 'off: not in ASKWATCH_ROLES',
  open: (url) => url,
  login: (url) => `${url}, with CONSOLE_PASSWORD`,
};

function overview({ version, seconds, url, listeningUrl, ...banner }: Banner): string[] {
  return [
    `Askwatch ${version} is ready after ${seconds.toFixed(1)} s.`,
    '',
    ...(listeningUrl === url ? [] : [`  Listens at  ${listeningUrl}`]),
    `  Console     ${CONSOLE[banner.console](url)}`,
    `  Models      ${banner.models.description ?? banner.models.provider}`,
    ...(banner.models.notes ?? []).map((note) => `              ${note}`),
    `  Monitors    ${banner.watching}`,
    ...banner.platforms.map(({ title, isRunning, hint = 'connected', bannerNote }) => {
      const how = isRunning
        ? hint + (bannerNote?.(url) ?? '')
        : `not configured (see "${title}" in the README)`;
      return `  ${title.padEnd(11)} ${how}`;
    }),
    `  Services    ${url}/v1 and ${url}/api/v1/public, described at ${url}/openapi.json`,
    `  State       ${banner.dataDir}`,
    '',
  ];
}

function keyLines({ firstKeys: { gateway, monitoring }, url }: Banner): string[] {
  if (!gateway && !monitoring) return [];
  return [
    'One API key for each service, shown this once. Keep them, or make others later with: npx askwatch keys create',
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
