import { execFile, execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

/** Lines that are begun, with what the Tab key makes of their last word. */
const BEGUN = [
  ['askwatch keys cr', 'create'],
  ['askwatch monitors plan moni', 'monitors.yaml'],
  ['askwatch keys list --service g', 'gateway'],
] as const;

/** A script for each shell that prints what completes `$1`, the line. */
const SHELLS = {
  bash: `source <(askwatch completion bash)
read -ra COMP_WORDS <<< "$1"
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_askwatch
printf '%s\\n' "\${COMPREPLY[@]}"`,
  // Only an interactive zsh completes: one on a pseudo terminal gets the Tab key, and then prints the line.
  zsh: `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -Uz compinit; compinit -u -D; source <(askwatch completion zsh); print REA""DY'
zpty -r -m shell seen '*READY*'
zpty -w -n shell "$1"$'\\t'
zpty -w -n shell $'\\C-aprint -r -- DO""NE \\C-e\\n'
zpty -r -m shell seen $'*\\nDONE*\\n'
print -r -- \${\${\${seen##*$'\\n'DONE }%%$'\\r'*}##* }`,
  fish: `askwatch completion fish | source
complete -C "$argv[1]" | cut -f1`,
};

const isHere = (shell: string) => {
  try {
    execFileSync(shell, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

const ROWS = Object.entries(SHELLS).flatMap(([shell, script]) =>
  BEGUN.map(([line, word]) => ({ shell, script, line, word })),
);

for (const { shell, script, line, word } of ROWS) {
  test.skipIf(!process.env.CI && !isHere(shell))(`${shell} completes ${line}`, async () => {
    const folder = await temporaryFolder();
    await mkdir(`${folder}/bin`);
    await symlink(CLI, `${folder}/bin/askwatch`);
    await writeFile(`${folder}/monitors.yaml`, '');
    const env = { PATH: `${folder}/bin:${process.env.PATH}`, HOME: folder };
    const args = shell === 'fish' ? ['-c', script, line] : ['-c', script, shell, line];
    const { stdout } = await promisify(execFile)(shell, args, { cwd: folder, env });
    expect(stdout).toBe(`${word}\n`);
  });
}
