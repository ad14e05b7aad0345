import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createLog, createRedaction } from '../app/log.ts';
import { assertStarted, openStore } from '../app/open-store.ts';
import { readToolServers, type Settings } from '../app/settings.ts';
import { type ExportQuery, exportedLines } from '../bot/feedback/export.ts';
import { createFeedback } from '../bot/feedback/feedback.ts';
import { secretsOf } from '../clients/tool-server-values.ts';
import { loadSettings, type RunningProgram, reachRunning } from './control-client.ts';
import { CommandLineError, type FeedbackOptions, sinceMsIn } from './options.ts';

/** Runs `feedback export` and writes its lines; resolves to how many bytes those are. Throws a `CommandLineError` for what cannot be run. */
export async function runFeedback(
  [action, ...more]: string[],
  options: FeedbackOptions,
  { version, out, nowMs = Date.now() }: { version: string; out: Writable; nowMs?: number },
): Promise<number> {
  if (action !== 'export' || more.length > 0) {
    throw new CommandLineError('feedback needs the subcommand export.');
  }
  const query = { sinceMs: sinceMsIn(options, nowMs), down: options.down };
  const settings = loadSettings();
  const running = await reachRunning(settings);
  return running
    ? await writeFromRunning(running, query, out)
    : await writeFromStore(settings, { query, out, version });
}

async function writeFromRunning(running: RunningProgram, query: ExportQuery, out: Writable) {
  try {
    const answer = await running.send('GET', 'feedback', { query });
    if (answer) return await write(answer, out);
    throw new Error('The running Askwatch is older than this command. Restart it first.');
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
  const log = createLog({ level: 'warn', secrets });
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
