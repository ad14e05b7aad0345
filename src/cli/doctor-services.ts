import { isIPv6 } from 'node:net';
import type { Settings } from '../app/settings.ts';
import { describeInvalid } from '../bot/incidents/invalid-monitors.ts';
import { type Finding, ok, problem, shortName, warning } from '../bot/shared/finding.ts';
import { counted } from '../bot/shared/text-format.ts';
import { CallError, ContractError, StatusError } from '../clients/errors.ts';
import { createGatewayClient } from '../clients/gateway.ts';
import { createMonitoringClient, type InvalidMonitor } from '../clients/monitoring.ts';
import { parseUntrustedJson } from '../contracts/parse-json.ts';
import { readCatalog, textModels } from '../gateway/catalog/catalog.ts';
import { CALL_LIMIT_MS, type NoAnswerError, type Probe } from './doctor-fetch.ts';

const ADDRESS = 'Address';

const LOOK =
  'Check its log. If it was started with another HOST or PORT, run doctor with the same ones.';

/** System errors for a host that is invalid or not on this machine. */
const NO_ADDRESS = new Set([
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
]);

/** Checks the catalog of the embedded gateway, or the models of a remote one. */
export async function checkGateway(settings: Settings): Promise<Finding[]> {
  const { gateway, roles } = settings;
  const findings: Finding[] = [];
  if (roles.has('gateway')) findings.push(await checkCatalog(settings, gateway === undefined));
  if (roles.has('bot') && gateway) findings.push(await checkGatewayElsewhere(settings, gateway));
  return findings;
}

async function checkCatalog(settings: Settings, isAsked: boolean): Promise<Finding> {
  const check = 'Model catalog';
  try {
    const models = textModels(await readCatalog(settings.catalogFile)).map(({ id }) => id);
    const { askModel } = settings.bot;
    return (
      (isAsked ? unknownModel(check, askModel, models) : undefined) ??
      ok(check, `${counted(models.length, 'chat model')}, the first is ${models[0]}`)
    );
  } catch (error) {
    const { message } = error as Error;
    return problem(check, `ASKWATCH_CATALOG: ${message}. Correct the file, or unset it.`);
  }
}

async function checkGatewayElsewhere(
  { bot: { askModel } }: Settings,
  service: { baseUrl: string; apiKey: string },
): Promise<Finding> {
  const check = 'Model gateway';
  const open = () => createGatewayClient({ ...service, timeoutMs: CALL_LIMIT_MS });
  return await withService('GATEWAY', check, open, async (client) => {
    const models = (await client.models()).filter(({ kind }) => kind !== 'image');
    const ids = models.map(({ id }) => id);
    if (ids.length === 0) {
      return problem(check, 'It offers no chat models. Ask its operator to add one.');
    }
    const text = `answers and accepts the key; ${counted(ids.length, 'model')}, the first is ${shortName(ids[0] ?? '')}`;
    return unknownModel(check, askModel, ids) ?? ok(check, text);
  });
}

function unknownModel(check: string, model: string | undefined, ids: string[]) {
  if (model === undefined || ids.includes(model)) return undefined;
  const some = ids.slice(0, 5).map(shortName).join(', ');
  return problem(
    check,
    `ASK_MODEL: unknown model. Set one of the available models, such as ${some}.`,
  );
}

export async function checkMonitoring({ monitoring, roles }: Settings): Promise<Finding[]> {
  if (!roles.has('bot') || !monitoring) return [];
  const check = 'Monitoring service';
  const open = () => createMonitoringClient({ ...monitoring, timeoutMs: CALL_LIMIT_MS });
  const finding = await withService('MONITORING', check, open, async (client) => {
    const odd: InvalidMonitor[] = [];
    const monitors = await client.list({ onInvalid: (row) => odd.push(row) });
    const text = `answers and accepts the key; ${counted(monitors.length, 'monitor')}`;
    if (odd.length === 0) return ok(check, text);
    return warning(
      check,
      `${text}. Its list has rows that break its contract: ${describeInvalid(odd)}. Askwatch watches the readable ones; fix the others in the service.`,
    );
  });
  return [finding];
}

async function withService<Client extends { close(): Promise<unknown> }>(
  name: 'GATEWAY' | 'MONITORING',
  check: string,
  open: () => Client,
  ask: (client: Client) => Promise<Finding>,
): Promise<Finding> {
  const address = `${name}_BASE_URL`;
  let client: Client | undefined;
  try {
    client = open();
    return await ask(client);
  } catch (error) {
    if (error instanceof StatusError && [401, 403].includes(error.status)) {
      const text = `${name}_API_KEY: the service rejected this key (${error.status}): ${error.message} Set a key from the service's operator.`;
      return problem(check, text);
    }
    if (error instanceof StatusError && error.status === 429) {
      return warning(check, `The service is rate limiting: ${error.message} Try again later.`);
    }
    if (error instanceof StatusError && error.status >= 500) {
      const text = `${address}: the service failed (${error.status}): ${error.message} Try again later, or tell its operator.`;
      return problem(check, text);
    }
    if (error instanceof CallError || error instanceof ContractError) {
      return problem(
        check,
        `${address}: ${error.message} Check the address and that the service is running there.`,
      );
    }
    // The client rejects the address or key itself.
    return problem(check, `${address}, ${name}_API_KEY: ${(error as Error).message}`);
  } finally {
    await client?.close();
  }
}

/** Without a running program the port must be free. `runningUrl` is the address that the program reported. */
export async function checkListener(
  { host, port }: Settings,
  options: {
    runs: boolean | 'elsewhere';
    runningUrl?: string;
    version: string;
    probe: Probe;
  },
): Promise<Finding[]> {
  const { runs, runningUrl, version, probe } = options;
  if (port === 0 && !runningUrl) {
    return [ok(ADDRESS, 'PORT is 0, which picks a free port; see the banner')];
  }
  const url = runningUrl || `http://${reachable(host)}:${port}`;
  const differs = port !== 0 && Number(new URL(url).port || 80) !== port;
  const findings = differs ? [otherPort(url, port)] : [];
  try {
    const answer = await probe.fetch(`${url}/openapi.json`);
    const found = await readVersion(answer);
    return [runs === true ? judgeOurs(url, found, version) : judgeOther(url, found), ...findings];
  } catch (error) {
    return [judgeSilence(url, error as NoAnswerError, runs === true), ...findings];
  }
}

const otherPort = (url: string, port: number) =>
  warning(
    ADDRESS,
    `Askwatch is running at ${url}, but PORT is ${port} here. Use the settings that it was started with.`,
  );

function judgeOurs(url: string, found: string | undefined, version: string): Finding {
  if (found === version) return ok(ADDRESS, `version ${version} answers at ${url}`);
  if (found === undefined) {
    return problem(ADDRESS, `A program other than Askwatch answers at ${url}. ${LOOK}`);
  }
  const text = `Version ${shortName(found)} is running at ${url}, but this is ${version}. Restart Askwatch.`;
  return warning(ADDRESS, text);
}

function judgeOther(url: string, found: string | undefined): Finding {
  const who = found === undefined ? 'another program' : 'an Askwatch with another data folder';
  return problem(ADDRESS, `PORT: ${who} listens at ${url}. Stop it, or set PORT to a free one.`);
}

function judgeSilence(url: string, { message, code }: NoAnswerError, runs: boolean): Finding {
  if (runs) {
    return problem(
      ADDRESS,
      `Askwatch is running but does not answer at ${url} (${message}). ${LOOK}`,
    );
  }
  if (code === 'ECONNREFUSED') return ok(ADDRESS, `${url} is free`);
  if (NO_ADDRESS.has(code ?? '')) {
    const text = `HOST: ${url} cannot be used (${message}). Use 127.0.0.1, or 0.0.0.0 for all.`;
    return problem(ADDRESS, text);
  }
  return judgeOther(url, undefined);
}

function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return isIPv6(host) ? `[${host}]` : host;
}

/** Returns the version of the Askwatch that responded; `undefined` for another program. */
async function readVersion(answer: Response): Promise<string | undefined> {
  const text = await answer.text();
  try {
    const { info } = parseUntrustedJson(text) as { info?: { title?: unknown; version?: unknown } };
    return info?.title === 'Askwatch' ? String(info.version) : undefined;
  } catch {
    // Another program's page.
    return undefined;
  }
}
