import type { Command, Option } from 'commander';

/** Printed in place of words where a file is expected. */
const FILES = ':file';

/** The scripts ask `askwatch complete` for words, so they never grow old. */
export const SCRIPTS = {
  bash: `_askwatch() {
  local IFS=$'\\n' lines
  lines=($(askwatch complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [[ $lines == ${FILES} ]]; then
    COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
    compopt -o filenames 2>/dev/null
  else
    COMPREPLY=("\${lines[@]%%$'\\t'*}")
  fi
}
complete -F _askwatch askwatch
`,
  zsh: `#compdef askwatch
_askwatch() {
  local -a lines
  lines=("\${(@f)$(askwatch complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $lines[1] == ${FILES} ]]; then
    _files
  else
    lines=("\${(@)lines/$'\\t'/:}")
    _describe askwatch lines
  fi
}
if [[ $funcstack[1] == _askwatch ]]; then _askwatch; else compdef _askwatch askwatch; fi
`,
  fish: `function __askwatch
  set -l word (commandline -ct)
  set -l lines (askwatch complete -- (commandline -opc)[2..-1] "$word" 2>/dev/null)
  if test "$lines" = ${FILES}
    __fish_complete_path "$word"
  else
    printf '%s\\n' $lines
  end
end
complete -c askwatch -f -a '(__askwatch)'
`,
};

/** Words that may take the place of the last one, each with a tab and what it does. */
export function completionsFor(root: Command, words: readonly string[]): string[] {
  const last = words.at(-1) ?? '';
  let command = root;
  let argumentCount = 0;
  /** The option whose value comes next. */
  let option: Option | undefined;
  for (const word of words.slice(0, -1)) {
    const known = command.commands.find((one) => one.name() === word);
    if (option) option = undefined;
    else if (word.startsWith('-'))
      option = command.options.find(({ short, long }) => word === short || word === long);
    else if (known) command = known;
    else argumentCount += 1;
    if (!option?.required) option = undefined;
  }
  const help = command.createHelp();
  const argument = command.registeredArguments[argumentCount];
  const offered: Array<[word: string, about: string]> = option
    ? (option.argChoices ?? []).map((choice) => [choice, ''])
    : last.startsWith('-')
      ? help.visibleOptions(command).map(({ long, description }) => [long ?? '', description])
      : command.commands.length > 0
        ? help.visibleCommands(command).map((one) => [one.name(), one.description()])
        : (argument?.argChoices ?? []).map((choice) => [choice, '']);
  if (!option && argument?.name() === 'file' && !last.startsWith('-')) return [FILES];
  return offered
    .filter(([word]) => word.startsWith(last))
    .map(([word, about]) => `${word}\t${about}`.trimEnd());
}
