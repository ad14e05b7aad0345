import { chatArea } from '../shared/chat-area.ts';
import { measureInvestigated } from './investigated.ts';
import { measureLimited } from './limited.ts';
import { measureLone } from './lone.ts';
import { measureStorm } from './storm.ts';

/** The whole program, from what its monitoring service sees to what comes to Slack and Discord. */
export const alerts = chatArea(
  {
    lone: measureLone,
    limited: measureLimited,
    storm: measureStorm,
    investigated: measureInvestigated,
  },
  'Times are from the change at the service to the message. The own part is from when the bot noted what it saw at the service: the wait for its next poll is not in it.',
);
