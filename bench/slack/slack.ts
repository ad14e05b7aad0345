import { chatArea } from '../shared/chat-area.ts';
import { measureSlackAcks } from './acks.ts';
import { measureCalls } from './calls.ts';
import { measureFirstText } from './first-text.ts';
import { measureMemory } from './memory.ts';

/** The whole program over Socket Mode, between a Slack and a model gateway of the bench. */
export const slack = chatArea(
  {
    acks: measureSlackAcks,
    'first-text': measureFirstText,
    calls: measureCalls,
    memory: measureMemory,
  },
  'Commands come 40 a second. The figures of acks are medians over the passes. Slack and the model answer at once: what a network takes is not in the figures, nor what Slack limits.',
);
