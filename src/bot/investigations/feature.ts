import type { Feature } from '../commands/feature.ts';
import { investigationActions } from './actions.ts';
import { monitorInvestigate } from './command.ts';
import { factsInMarkdown } from './investigation-card.ts';
import { Investigator } from './investigator.ts';
import { lookUp } from './look-ups.ts';
import { lookUpOptions } from './run-investigation.ts';

/** Looks for the cause of an incident before anybody asks. */
export const investigations: Feature = {
  name: 'investigations',
  commands: [monitorInvestigate],
  after: 'monitor escalate',
  actions: investigationActions,
  open(core) {
    const service = new Investigator(core);
    return {
      service,
      start: (bot) => service.start(bot),
      stop: () => service.stop(),
      factsAbout: async (found, place, signal) =>
        factsInMarkdown(await lookUp(found, lookUpOptions(core, place, signal))),
    };
  },
};
