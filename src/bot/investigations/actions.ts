import { z } from 'zod';
import { command, requiredText } from '../commands/command.ts';
import { serviceOf } from '../commands/open-features.ts';
import { CommandError } from '../shared/errors.ts';
import { inertFile } from '../shared/inert-markdown.ts';
import type { AnswerPart, CommandAnswer } from '../shared/invocation.ts';
import type { Investigator } from './investigator.ts';

const investigatorOf = serviceOf<Investigator>('investigations');

const input = z.object({
  investigation: requiredText(40, 'The investigation above the button'),
});

const againButton = command({
  name: 'investigation again',
  summary: 'Investigate an incident again',
  right: 'anyone',
  input,
  async run({ investigation }, call) {
    await investigatorOf(call).again(investigation, call.place);
    return { kind: 'nothing' };
  },
});

const offButton = command({
  name: 'investigation off',
  summary: 'Turn investigations off for an incident',
  right: 'anyone',
  input,
  async run({ investigation }, call) {
    await investigatorOf(call).turnOff(investigation, call.place, call.person.name);
    return { kind: 'nothing' };
  },
});

const DETAILS = 'Show the details of the investigation';
const FORGOTTEN =
  'This thread no longer remembers the investigation. Press Investigate again for a new one.';

const detailsButton = command({
  name: 'investigation details',
  summary: 'Post everything that an investigation looked up, as a file',
  right: 'anyone',
  input,
  once: ({ investigation }) => ({
    key: `investigation details ${investigation}`,
    keepMs: 10_000,
    shown: 'The file is in the thread.',
  }),
  async run({ investigation }, call) {
    const report = await investigatorOf(call).reportOf(investigation, call.place);
    if (report === undefined) throw new CommandError(FORGOTTEN);
    return detailsAnswer(call.handling.answer, report);
  },
});

/** The report as a file in the thread. */
function detailsAnswer(id: string, report: string): CommandAnswer {
  return {
    kind: 'answer',
    id,
    question: DETAILS,
    private: false,
    async *stream(): AsyncGenerator<AnswerPart> {
      yield { kind: 'text', text: 'The file has everything that was looked up.' };
      const text = inertFile(report, 'Investigation');
      const document = { name: 'investigation.md', mediaType: 'text/markdown', text } as const;
      yield { kind: 'end', footer: '', document };
    },
  };
}

export const investigationActions = [againButton, offButton, detailsButton];
