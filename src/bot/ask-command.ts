import { z } from 'zod';
import { command } from './command.ts';

/** `/ask`: a question, answered in a thread as it is generated. */
export const askCommand = command({
  name: 'ask',
  summary: 'Ask a question; the answer comes in a thread, and you can go on there',
  input: z.object({
    question: z.string().min(1).max(100_000).describe('What you want to know'),
    model: z
      .string()
      .max(200)
      .optional()
      .describe('A model of /askwatch models; the default when left out'),
    private: z.boolean().optional().describe('true shows the answer only to you'),
  }),
  examples: ['/ask why is the sky blue?', '/ask private=true what does ECONNRESET mean?'],
  wholeLine: true,
  run: async ({ question, model, private: only }, { ask, invocation }) =>
    ask.answer({ question, model, private: only ?? false, place: invocation.place }),
});
