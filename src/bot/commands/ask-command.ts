import { z } from 'zod';
import { notedCard, noteIn } from '../incidents/incident-service.ts';
import { toEveryone } from '../shared/invocation.ts';
import { shortened } from '../shared/text-format.ts';
import { attachedFile, command, optionalText, requiredText } from './command.ts';

/** A question, or in the thread of an alert a note for its incident. */
export const askCommand = command({
  name: 'ask',
  summary: 'Ask a question; the answer opens a thread where you can continue',
  group: 'ask',
  right: 'anyone',
  input: z.object({
    question: requiredText(100_000, 'What you want to know').min(1),
    model: optionalText(200, 'A model from /askwatch models; default: this channel’s model'),
    private: z.boolean().optional().describe('true: only you see the answer'),
    file: attachedFile('An image, text file or PDF that the question is about').optional(),
  }),
  examples: ['/ask why is the sky blue?', '/ask private=true what does ECONNRESET mean?'],
  wholeLine: true,
  async run(
    { question, model, private: only, file },
    { ask, handling, incidents, invocation, person },
  ) {
    const { place, thread, about, around, files: attached = [] } = invocation;
    const files = [...(file ? [file] : []), ...attached];
    const text = noteIn(question);
    if (text !== undefined && thread !== undefined) {
      const by = shortened(person.name, 80);
      if (await incidents.note({ place, thread }, { by, text })) {
        return toEveryone(notedCard(text));
      }
    }
    return ask.answer({
      ...{ handling, question, model, private: only, place, person },
      about: about && [about],
      around,
      files: files.length > 0 ? files : undefined,
    });
  },
});
