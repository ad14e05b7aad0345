// Runs the README's start command as a new user would, creates a key, asks one question over HTTP with it, and stops the program
// with SIGTERM. If anything fails, it prints the program's output and exits with code 1.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

const folder = await mkdtemp(join(tmpdir(), 'askwatch-smoke-'));
const child = spawn('npm', ['start'], {
  env: { ...process.env, PORT: '0', DATA_DIR: folder },
  stdio: ['ignore', 'pipe', 'pipe'],
});
let output = '';
for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
const exit = new Promise((resolve) => child.once('exit', resolve));

try {
  const deadline = Date.now() + 90_000;
  while (!output.includes('is ready after')) {
    assert.equal(child.exitCode, null, 'npm start exited too early');
    assert.ok(Date.now() < deadline, 'npm start was not ready within 90 s');
    await wait(50);
  }
  const url = /Services +(http:\S+)\/v1 /.exec(output)?.[1];
  assert.ok(url, 'the banner shows no address');
  assert.doesNotMatch(output, /aw[gm]_/, 'a key was printed although the output is not a terminal');
  const create = ['dist/cli.js', 'keys', 'create', '--service', 'gateway', '--name', 'smoke'];
  const env = { ...process.env, DATA_DIR: folder };
  const { stdout } = await promisify(execFile)(process.execPath, create, { env });
  const key = /awg_[A-Za-z0-9]{40}/.exec(stdout)?.[0];

  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'small-4k', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  const body = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(body));
  assert.ok(body.choices[0].message.content.length > 0, 'the answer has no text');

  child.kill('SIGTERM');
  const code = await Promise.race([exit, wait(12_000, 'still running')]);
  assert.equal(code, 0, 'SIGTERM did not end npm start with code 0');
  await assert.rejects(fetch(`${url}/healthz`), 'it still listens after SIGTERM');
  const seconds = /ready after ([\d.]+) s/.exec(output)?.[1];
  console.log(
    `smoke on Node.js ${process.versions.node}: ready after ${seconds} s, answered, stopped by SIGTERM with code 0`,
  );
} catch (error) {
  console.error(`smoke: ${error.message}\n\nOutput of npm start:\n${output}`);
  process.exitCode = 1;
} finally {
  if (child.exitCode === null) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
}
