import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runCommandLine } from '../../src/cli/commands.ts';

export const program = { version: '1.2.3', engines: { node: '>=20.19' } };

/** Runs `askwatch` with these words, in this process. Variables of the environment are the caller's. */
export async function runCommand(...words: string[]) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const printed = [text(out), text(err)];
  const code = await runCommandLine(words, { program, out, err });
  out.end();
  err.end();
  const [stdout = '', stderr = ''] = await Promise.all(printed);
  return { code, out: stdout, err: stderr };
}
