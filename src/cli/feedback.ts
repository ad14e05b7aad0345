import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createLog, createRedaction } from '../app/log.ts';
import { assertStarted, openStore } from '../app/open-store.ts';
import { readToolServers, type Settings } from '../app/settings.ts';
import { type ExportQuery, exportedLines } from '../bot/feedback/export.ts';
import { createFeedback } from '../bot/feedback/feedback.ts';
import { secretsOf } from '../clients/tool-server-values.ts';
import { CommandLineError, type CommandRun, type ExitCode } from './command.ts';
import { loadSettings, type RunningProgram, reachRunning } from './control-client.ts';
import { sinceMsIn } from './options.ts';

interface FeedbackOptions {
  since?: string;
  down?: boolean;
  quiet?: boolean;
}

/** Writes rated answers as JSON lines. */
export async function exportFeedback(
  options: FeedbackOptions,
  { out, err, program: { version } }: CommandRun,
): Promise<ExitCode> {
  const query = { sinceMs: sinceMsIn(options.since, Date.now()), down: options.down };
  const settings = loadSettings();
  const running = await reachRunning(settings);
  const bytes = running
    ? await writeFromRunning(running, query, out)
    : await writeFromStore(settings, { query, out, version });
  if (bytes === 0 && !options.quiet) err.write('No rated answers in that period.\n');
  return 0;
}

async function writeFromRunning(running: RunningProgram, query: ExportQuery, out: Writable) {
  try {
    const answer = await running.send('GET', 'feedback', { query });
    if (answer) return await write(answer, out);
    throw new CommandLineError(
      'The running Askwatch is older than this command. Restart it first.',
    );
  } finally {
    await running.close();
  }
}

async function writeFromStore(
  settings: Settings,
  { query, out, version }: { query: ExportQuery; out: Writable; version: string },
) {
  const servers = await readToolServers(settings.mcpConfigFile, process.env);
  const secrets = [...settings.secrets, ...servers.flatMap(secretsOf)];
  const log = createLog({ level: 'warn', format: settings.logFormat, secrets });
  assertStarted(settings);
  const { store } = await openStore(settings, { version, log });
  try {
    const feedback = createFeedback(store, { days: settings.bot.feedbackDays });
    return await write(exportedLines(feedback, query, createRedaction(secrets)), out);
  } finally {
    await store.close();
  }
}

async function write(text: AsyncIterable<string | Uint8Array>, out: Writable): Promise<number> {
  let bytes = 0;
  const counted = async function* () {
    for await (const piece of text) {
      bytes += piece.length;
      yield piece;
    }
  };
  try {
    await pipeline(Readable.from(counted()), out, { end: false });
  } catch (error) {
    // The reader of the pipe, such as `head`, has closed it.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
  return bytes;
}
