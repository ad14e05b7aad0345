import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openTab, repliesOf } from '../../helpers/console/test-console.ts';
import { startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { runCli } from '../../helpers/end-to-end/key-commands.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Exports on the command line, and makes drafts of what comes through the pipe. */
async function draftsFrom(dataDir: string): Promise<string> {
  const pipe = 'node dist/cli.js feedback export | npm run --silent evals -- --add';
  const { stdout } = await promisify(execFile)('sh', ['-c', pipe], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', DATA_DIR: `${dataDir}/data` },
  });
  return stdout;
}

test('a rated answer is exported through a pipe into drafts of cases, whether or not the program runs', async () => {
  const dataDir = await temporaryFolder();
  const askwatch = await startAskwatch({ dataDir });
  const tab = await openTab(askwatch.url);
  const said = await tab.say('/ask what is down?');
  if (said.shown !== 'thread') throw new Error('There is no thread.');
  const thread = said.message;
  const answer = await eventually(async () => {
    const [first] = await repliesOf(askwatch.url, thread);
    return first?.body.kind === 'answer' && !first.body.growing && first;
  });
  expect((await tab.press(answer, '👎', { thread })).shown).toBe('form');
  const running = await draftsFrom(dataDir);
  expect(running).toContain('question: "what is down?"');
  expect(running).toContain('criteria: [looked(tool("list_monitors"))]');
  expect(await askwatch.stop()).toBe(0);
  expect(await draftsFrom(dataDir)).toBe(running);
  const none = await runCli(dataDir, ['feedback', 'export', '--since', '2099-01-01']);
  expect(none).toEqual({ code: 0, output: '' });
});
