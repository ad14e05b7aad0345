import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

// `script` of Linux runs a command on a pseudo terminal. macOS has another one.
test.skipIf(process.platform !== 'linux')(
  'on a terminal the log is readable, and Ctrl+C stops the program with a word',
  async () => {
    const folder = await temporaryFolder();
    const command = `exec ${process.execPath} ${CLI} start`;
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', PORT: '0', LOG_LEVEL: 'debug', NO_COLOR: '1' },
    });
    let output = '';
    child.stdout.on('data', (data: Buffer) => {
      output += data.toString();
    });
    await eventually(() => output.includes('is ready after') || child.exitCode !== null, {
      withinMs: 60_000,
      what: 'Askwatch to be ready',
    });
    child.stdin.write('\u0003');
    const [code] = await once(child, 'close');
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/Stopped\.\r\n$/) });
    expect(output).toMatch(/^\d\d:\d\d:\d\d INFO {2}Server listening at http:/m);
    expect(output).not.toContain('{"level"');
  },
);
