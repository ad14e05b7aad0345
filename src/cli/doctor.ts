import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { styleText } from 'node:util';
import { BOT_LEASE, botHolders } from '../app/bot-holder.ts';
import { createLog, createRedaction } from '../app/log.ts';
import { plain } from '../app/plain.ts';
import type { PlatformRegistration } from '../app/platforms/registration.ts';
import { platforms } from '../app/platforms.ts';
import { readSettings, type Settings, SettingsError, secretsIn } from '../app/settings.ts';
import { type Finding, ok, problem, warning } from '../bot/shared/finding.ts';
import { counted } from '../bot/shared/text-format.ts';
import type { DatabaseFacts } from '../store/postgres/inspection.ts';
import type { CommandRun, PrintedResult, ProgramInfo } from './command.ts';
import { reachRunning } from './control-client.ts';
import { checkConsole, checkProxies } from './doctor-console.ts';
import {
  botFindings,
  databaseFindings,
  programOnDatabase,
  unreachable,
} from './doctor-database.ts';
import { createProbe, type Probe } from './doctor-fetch.ts';
import {
  checkClock,
  checkDamagedFiles,
  checkDataFolder,
  checkNode,
  checkProgram,
} from './doctor-machine.ts';
import { checkMonitorsFile } from './doctor-monitors.ts';
import { checkProviders } from './doctor-providers.ts';
import { checkGateway, checkListener, checkMonitoring } from './doctor-services.ts';
import { checkToolServers } from './doctor-tools.ts';
import { tableLines } from './table.ts';

/** Time limit of one area; each request in it has a shorter one. */
const AREA_LIMIT_MS = 30_000;

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

const CREDENTIALS = /(?<=:\/\/)[^/@\s]+@/g;

/** Checks everything in parallel, and changes nothing. */
export async function runDoctor(_: unknown, { program }: CommandRun): Promise<PrintedResult> {
  if (existsSync('.env')) process.loadEnvFile('.env');
  const clean = createCleaning(secretsIn(process.env));
  const findings = (await examine(program)).map(({ check, level, text }) => ({
    check: clean(check),
    level,
    text: clean(text),
  }));
  const count = (level: Finding['level']) => findings.filter((one) => one.level === level).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  const [heading = '', ...rows] = lines(findings);
  return {
    data: { version: program.version, problems, warnings, findings },
    lines: [heading, ...rows, '', summary(problems, warnings)],
    quietLines: rows.filter((_, at) => findings[at]?.level !== 'ok'),
    code: problems > 0 ? 1 : 0,
  };
}

/** Removes secrets and terminal control characters. */
function createCleaning(secrets: string[]): (text: string) => string {
  const redact = createRedaction(secrets);
  return (text) => plain(redact(text).replace(CREDENTIALS, '[secret]@'));
}

function lines(found: Finding[]): string[] {
  const rows = found.map(({ level, check, text }) => [level, check, text]);
  const table = tableLines(['RESULT', 'CHECK', 'FOUND'], rows);
  return table.map((line) =>
    line.replace(/^[a-z]+/, (level) => styleText(COLOURS[level as Finding['level']], level)),
  );
}

function summary(problems: number, warnings: number): string {
  if (problems > 0) {
    return `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}. Fix them and run doctor again.`;
  }
  return warnings > 0 ? `No problems, ${counted(warnings, 'warning')}.` : 'No problems found.';
}

async function examine({ version, engines }: ProgramInfo): Promise<Finding[]> {
  const node = checkNode(engines.node);
  let settings: Settings;
  try {
    settings = readSettings(process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const wrong = error.message.split('\n').map((line) => problem('Settings', line));
    const rest = warning('Other checks', 'Not run until the settings are correct.');
    return [node, ...wrong, rest];
  }
  const probe = createProbe();
  const areas = await Promise.all([
    ...(settings.database
      ? [bounded('Database', () => checkDatabase(settings, { version, probe }))]
      : [
          bounded('Data folder', () => checkDataFolder(settings.dataDir)),
          bounded('Program', () => checkProgramAndAddress(settings, { version, probe })),
        ]),
    bounded('Console', async () => [checkConsole(settings), ...checkProxies(settings)]),
    bounded('Model gateway', () => checkGateway(settings)),
    bounded('Model providers', () => checkProviders(settings, probe)),
    bounded('Monitoring service', () => checkMonitoring(settings)),
    bounded('Monitors file', () => checkMonitorsFile(settings)),
    bounded('MCP servers', () => checkToolServers(settings, version)),
    ...platforms
      .filter(({ variables }) => Object.keys(variables).length > 0)
      .map((platform) => bounded(platform.title, () => checkPlatform(platform, settings, probe))),
  ]);
  return [node, ok('Settings', 'valid'), ...areas.flat(), checkClock(probe.readings)];
}

/** Returns an area's findings, or one that says that the check failed or took too long. */
async function bounded(check: string, look: () => Promise<Finding[]>): Promise<Finding[]> {
  const text = `This check took longer than ${AREA_LIMIT_MS / 1000} s. Check the network.`;
  // A late check may still be running; the command exits anyway.
  const late = pause(AREA_LIMIT_MS, [problem(check, text)]);
  try {
    return await Promise.race([look(), late]);
  } catch (error) {
    return [problem(check, `This check failed: ${(error as Error).message}`)];
  }
}

async function checkProgramAndAddress(
  settings: Settings,
  { version, probe }: { version: string; probe: Probe },
): Promise<Finding[]> {
  const { finding, runs } = await checkProgram(settings.dataDir);
  const damaged = await checkDamagedFiles(settings.dataDir);
  const runningUrl = runs === true ? await readRunningUrl(settings) : undefined;
  const address = await checkListener(settings, { runs, runningUrl, version, probe });
  return [finding, ...damaged, ...address];
}

/** Asks the program on this data folder for its address, because another Askwatch may use the port in the settings. */
async function readRunningUrl(settings: Settings): Promise<string | undefined> {
  const running = await reachRunning(settings);
  try {
    return (await running?.ask<{ url: string }>('GET', 'address'))?.url;
  } finally {
    await running?.close();
  }
}

async function checkDatabase(
  settings: Settings,
  { version, probe }: { version: string; probe: Probe },
): Promise<Finding[]> {
  const { database } = settings;
  if (!database) return [];
  const { inspectDatabase, lookAtDocument } = await import('../store/postgres/inspection.ts');
  const log = createLog({ level: 'silent', secrets: [] });
  let facts: DatabaseFacts;
  try {
    facts = await inspectDatabase({ ...database, log });
  } catch (error) {
    return [unreachable(error)];
  }
  const { finding, runs } = await programOnDatabase(facts);
  const holder =
    facts.processes &&
    (await lookAtDocument({ ...database, log }, botHolders, BOT_LEASE).catch(() => undefined));
  return [
    ...databaseFindings(facts, database),
    ...botFindings(facts, holder?.url),
    finding,
    ...(await checkListener(settings, { runs, version, probe })),
  ];
}

/** Loads a platform's library only if the platform is configured. */
async function checkPlatform(
  { name, title, variables }: PlatformRegistration,
  { platforms: configured, bot, roles }: Settings,
  probe: Probe,
): Promise<Finding[]> {
  if (!roles.has('bot')) return [];
  const platform = configured.get(name);
  if (platform) {
    const log = createLog({ level: 'silent', secrets: [] });
    return await platform.check({ fetch: probe.fetch, log });
  }
  const isNamed = bot.alertPlaces.some((place) => place.platform === name);
  if (!isNamed) return [ok(title, 'not configured')];
  const setting = Object.values(variables)[0]?.name;
  const text = `ALERT_CHANNELS names channels of ${title}, which is not configured. Set ${setting}, or remove them.`;
  return [problem(title, text)];
}
