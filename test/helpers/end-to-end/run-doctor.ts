import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

type Env = Record<string, string>;
interface Finding {
  check: string;
  level: string;
  text: string;
}

/** Runs the doctor as a person does, with nothing of the surrounding environment but PATH. No secret may be in what it says. */
export async function runDoctor(
  env: Env,
  options: { folder?: string; args?: string[]; shell?: string } = {},
) {
  const { args = [], shell } = options;
  const folder = options.folder ?? (await temporaryFolder());
  const command = [CLI, 'doctor', ...args];
  const [program = '', ...rest] =
    shell === undefined ? command : ['sh', '-c', shell, 'sh', ...command];
  const { code, output } = await promisify(execFile)(program, rest, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', DATA_DIR: `${folder}/data`, PORT: '0', ...env },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      output: error.stdout + error.stderr,
    }),
  );
  for (const [name, value] of Object.entries(env)) {
    if (/TOKEN|KEY|SECRET/.test(name)) expect(output).not.toContain(value);
  }
  return { code, output };
}

/** Runs doctor and returns the findings by check. */
export async function examine(env: Env, options: { folder?: string; shell?: string } = {}) {
  const { code, output } = await runDoctor(env, { ...options, args: ['--json'] });
  const { findings } = JSON.parse(output) as { findings: Finding[] };
  const of = (check: string) => findings.filter((one) => one.check === check);
  return { code, findings, of };
}

/** Everything that Askwatch can be connected with, all well. */
export async function startEverything() {
  const slack = await startSlack();
  const discord = await startDiscord();
  const provider = await startModelProvider();
  const gateway = await startModelProvider({ apiKey: 'gateway-key-abcdef', models: ['far-4k'] });
  const monitoring = await startMonitoringService();
  for (const service of [provider, gateway, monitoring]) onTestFinished(() => service.close());
  const env = {
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
    SLACK_API_URL: slack.apiUrl,
    DISCORD_TOKEN: discord.settings.token,
    DISCORD_GUILD_ID: discord.guildId,
    DISCORD_API_URL: discord.api,
    GATEWAY_BASE_URL: gateway.url,
    GATEWAY_API_KEY: gateway.apiKey,
    MONITORING_BASE_URL: monitoring.url,
    MONITORING_API_KEY: monitoring.apiKey,
    OPENAI_API_KEY: provider.apiKey,
    OPENAI_BASE_URL: `${provider.url}/v1`,
    ALERT_CHANNELS: `slack:${CHANNEL},discord:${discord.general.id}`,
  };
  return { slack, discord, provider, gateway, monitoring, env };
}
