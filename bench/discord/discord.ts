import { chatArea } from '../shared/chat-area.ts';
import { measureDeferrals } from './acks.ts';
import { measureEdits } from './edits.ts';
import { measureFirstText } from './first-text.ts';
import { measureMemory } from './memory.ts';

/** The whole program over the gateway, between a Discord and a model gateway of the bench. */
export const discord = chatArea(
  {
    deferrals: measureDeferrals,
    'first-text': measureFirstText,
    edits: measureEdits,
    memory: measureMemory,
  },
  'Commands come 40 a second, or all at once. The figures of deferrals are medians over the passes. Discord and the model answer at once: what a network takes is not in the figures, nor what Discord limits but for the edits. discord.js itself sends 50 requests a second and no more, but for deferrals.',
);
