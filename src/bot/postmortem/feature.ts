import { conversationKey } from '../ask/conversations.ts';
import type { Feature } from '../commands/feature.ts';
import { INVESTIGATION, isIncidentQuestion, POSTMORTEM } from '../commands/incident-actions.ts';
import { postmortemAnswer } from './postmortem-answer.ts';

/** Postmortems: a draft by rules, which a model rewrites, as a file. */
export const postmortem: Feature = {
  name: 'postmortem',
  open: ({ monitoring, conversations }) => ({
    documentFor({ question, place }, { place: key, thread }, found) {
      if (question !== POSTMORTEM) return undefined;
      return postmortemAnswer(found, {
        monitoring,
        place: key,
        async remembered() {
          const turns = await conversations.turns(conversationKey(place, thread));
          return {
            questions: turns.flatMap(({ question: text, atMs }) =>
              isIncidentQuestion(text) ? [] : [{ text, atMs }],
            ),
            investigation: turns.findLast(({ question: text }) => text === INVESTIGATION),
          };
        },
        nowMs: Date.now(),
      });
    },
  }),
};
