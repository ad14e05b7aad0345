import { z } from 'zod';
import { stateInWords } from '../alerts/alert-titles.ts';
import { conversationKey } from '../ask/conversations.ts';
import { textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { toAsker } from '../shared/invocation.ts';
import { shortened } from '../shared/text-format.ts';
import { acknowledge, snooze } from '../tools/incident-changes.ts';
import { ifOffered } from '../tools/monitors.ts';
import { type Command, command, requiredText } from './command.ts';
import { listTone } from './monitor/list.ts';

const input = z.object({
  incident: requiredText(60, 'The incident above the button'),
});

/** A button under an incident, for everyone who sees it. */
const button = (declaration: Omit<Command<typeof input>, 'right' | 'input'>) =>
  command({ ...declaration, right: 'anyone', input });

const WHY = 'Why is this down, and what should we look at first?';
/** Asked by a button; the feature `postmortem` prepares a draft for its answer. */
export const POSTMORTEM =
  'Write a postmortem draft of this incident for people who were not here: what happened and when, the known cause, the impact, what people did and said, and what is still open.';

/** The question that an investigation answers, in its thread's memory. */
export const INVESTIGATION = 'Askwatch investigated by itself: what is the likely cause?';

/** True for questions that no person typed. Pure. */
export const isIncidentQuestion = (question: string) =>
  [WHY, POSTMORTEM, INVESTIGATION].includes(question);

const acknowledgeButton = button({
  name: 'incident acknowledge',
  summary: 'Acknowledge an incident',
  async run({ incident }, { incidents, person }) {
    const first = await acknowledge(incident, { incidents, person });
    return first ? toAsker(first) : { kind: 'nothing' };
  },
});

const snoozeButton = button({
  name: 'incident snooze',
  summary: 'Mute new outages of this monitor for an hour',
  async run({ incident }, { incidents, person }) {
    const first = await snooze(incident, { incidents, person });
    return first ? toAsker(first) : { kind: 'nothing' };
  },
});

const unsnoozeButton = button({
  name: 'incident unsnooze',
  summary: 'Post new outages of this monitor again',
  async run({ incident }, { incidents }) {
    const hasEnded = await incidents.endSnoozes(incident);
    if (!hasEnded) throw new CommandError('This snooze has already ended.');
    return { kind: 'nothing' };
  },
});

const closeButton = button({
  name: 'incident close',
  summary: 'Close an incident without recent news',
  async run({ incident }, { incidents, person }) {
    await incidents.close(incident, person.name);
    return { kind: 'nothing' };
  },
});

const checkButton = button({
  name: 'incident check',
  summary: 'Check the monitor of an incident now',
  async run({ incident: id }, { incidents, monitoring }) {
    const [{ monitorId, name, target, reported }] = incidents.get(id);
    if (reported) {
      throw new CommandError(
        `${shortened(name, 60)} is reported by ${shortened(target, 60)}, so Askwatch can’t check it.`,
      );
    }
    const now = await ifOffered(monitoring.check(monitorId), [404, 405, 409]);
    if (!now) {
      throw new CommandError(
        `${shortened(name, 60)} can’t be checked now: it is paused, removed or waiting for pings, or the monitoring service does not offer this.`,
      );
    }
    const { status_reason: reason, response_time_ms: ms } = now;
    const time = typeof ms === 'number' ? `, answered in ${Math.round(ms)} ms` : '';
    const title = `${shortened(now.name, 100)} is ${stateInWords(now.status)}`;
    const text = reason ? `Checked just now: ${reason}` : `Checked just now${time}.`;
    return toAsker(textCard(listTone([now]), title, text));
  },
});

const questionButton = (name: string, summary: string, question: string) =>
  button({
    name,
    summary,
    // Once per thread; people may ask again when something has happened.
    once: ({ incident }, { place, thread = '' }) => ({
      key: `${name} ${incident} ${conversationKey(place, thread)}`,
      keepMs: 10_000,
      shown: 'The answer is in the thread.',
    }),
    async run({ incident }, { incidents, ask, handling, place, person }) {
      incidents.get(incident);
      return ask.answer({ handling, question, place, person });
    },
  });

export const incidentActions = [
  acknowledgeButton,
  snoozeButton,
  unsnoozeButton,
  closeButton,
  checkButton,
  questionButton('incident why', 'Ask the model why', WHY),
  questionButton('incident summary', 'Draft a postmortem of the incident', POSTMORTEM),
];
