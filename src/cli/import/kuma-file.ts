import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { plain } from '../../app/plain.ts';
import { MAX_MONITORS } from '../../monitoring/monitors/monitors.ts';
import { CommandLineError } from '../command.ts';

/** First bytes of a database file. Source: SQLite, "Database File Format". */
const MAGIC = 'SQLite format 3\0';

/** Every column, because each version of Uptime Kuma has others. Source: Uptime Kuma 2.5, db/knex_init_db.js. */
const MONITORS = `SELECT monitor.*, (
  SELECT json_group_array(json_object('name', tag.name, 'value', monitor_tag.value))
  FROM monitor_tag JOIN tag ON tag.id = monitor_tag.tag_id WHERE monitor_tag.monitor_id = monitor.id
) AS tags FROM monitor ORDER BY id LIMIT ${MAX_MONITORS + 1}`;

const WITHOUT_SQLITE = `This is a SQLite file, and reading it needs the program sqlite3. Install it (Debian: apt install sqlite3), or run this where it is installed and import the result: sqlite3 -json kuma.db 'SELECT * FROM monitor' > kuma.json`;

export async function isSqlite(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0);
    return buffer.toString('latin1', 0, bytesRead) === MAGIC;
  } finally {
    await file.close();
  }
}

/** Reads the monitors of a database file as a JSON list, at most `maxBytes` long. The file and its folder stay as they are. */
export async function readKumaDatabase(path: string, maxBytes: number): Promise<string> {
  const file = resolve(path);
  // SQLite creates files next to a database that uses a log, unless the log is there or the file is declared unchangeable.
  const uri = `${pathToFileURL(file).href}?immutable=1`;
  const args = ['-batch', '-readonly', '-json', existsSync(`${file}-wal`) ? file : uri, MONITORS];
  try {
    const { stdout } = await promisify(execFile)('sqlite3', args, {
      ...{ maxBuffer: maxBytes, timeout: 60_000 },
    });
    return stdout.trim() === '' ? '[]' : stdout;
  } catch (error) {
    const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
    if (code === 'ENOENT') throw new CommandLineError(WITHOUT_SQLITE);
    if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') {
      throw new CommandLineError('The monitors in this file are larger than 20 MB.');
    }
    const [reason = 'it took longer than a minute'] = stderr
      .split('\n')
      .filter((line) => line !== '');
    throw new CommandLineError(
      `sqlite3 can't read the monitors (${plain(reason)}). Use kuma.db from Uptime Kuma's data folder, or a copy of it with kuma.db-wal.`,
    );
  }
}
