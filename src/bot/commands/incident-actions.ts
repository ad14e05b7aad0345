import { z } from 'zod';
import { StatusError } from '../../clients/errors.ts';
import { stateInWords } from '../alerts/alert-titles.ts';
import { conversationKey } from '../ask/conversations.ts';
import { newSnooze } from '../incidents/snoozes.ts';
import { factsPart, textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { toAsker } from '../shared/invocation.ts';
import { shortened } from '../shared/text-format.ts';
import { type Command, command, requiredText } from './command.ts';
import { listTone } from './monitor/list.ts';

const input = z.object({
  incident: requiredText(60, 'The incident above the button'),
});

/** What a button under an incident does. Whoever sees the incident may press it. */
const button = (declaration: Omit<Command<typeof input>, 'right' | 'input'>) =>
  command({ ...declaration, right: 'anyone', input });

const WHY = 'Why is this down, and what should we look at first?';
const POSTMORTEM =
  'Write a postmortem draft of this incident for people who were not here: what happened and when, the known cause, the impact, what people did and said, and what is still open.';

/** Whether this is what the buttons under an incident ask a model, which is then asked again in the same words. Pure. */
export const isIncidentQuestion = (question: string) =>
  question === WHY || isPostmortemQuestion(question);

/** Whether the answer is to be a postmortem. Pure. */
export const isPostmortemQuestion = (question: string) => question === POSTMORTEM;

/** Says who did it before, to whoever came second. */
const toldSecond = (title: string, label: string, atMs: number) =>
  toAsker({ tone: 'info', title, parts: [factsPart({ label, value: { atMs } })] });

/** Somebody looks after it: shown in every place that was told. */
const acknowledge = button({
  name: 'incident acknowledge',
  summary: 'Acknowledge an incident',
  async run({ incident: id }, { incidents, person }) {
    const by = shortened(person.name, 80);
    const before = await incidents.mark(id, 'acknowledged', (atMs) => ({ by, atMs }));
    if (!before) return { kind: 'nothing' };
    return toldSecond(`${before.by} acknowledged this first`, 'Acknowledged', before.atMs);
  },
});

/** New outages of the same monitors wait for an hour. */
const snooze = button({
  name: 'incident snooze',
  summary: 'Mute new outages of this monitor for an hour',
  async run({ incident: id }, { incidents, person }) {
    const before = await incidents.mark(id, 'snoozed', (atMs) => newSnooze(person.name, atMs));
    if (!before) return { kind: 'nothing' };
    return toldSecond(`${before.by} snoozed this first`, 'Snoozed until', before.untilMs);
  },
});

/** What was held back is told. */
const unsnooze = button({
  name: 'incident unsnooze',
  summary: 'Post new outages of this monitor again',
  async run({ incident: id }, { incidents }) {
    if (!(await incidents.endSnoozes(id))) throw new CommandError('This snooze has already ended.');
    return { kind: 'nothing' };
  },
});

/** Ends what nobody has heard of for long, which says nothing about whether it is over. */
const close = button({
  name: 'incident close',
  summary: 'Close an incident without recent news',
  async run({ incident: id }, { incidents, person }) {
    await incidents.close(id, person.name);
    return { kind: 'nothing' };
  },
});

/** A check at once, where the service offers it. */
const check = button({
  name: 'incident check',
  summary: 'Check the monitor of an incident now',
  async run({ incident: id }, { incidents, monitoring }) {
    const [{ monitorId, name, target, reported }] = incidents.get(id);
    if (reported) {
      throw new CommandError(
        `${shortened(name, 60)} is reported by ${shortened(target, 60)}, so Askwatch can’t check it.`,
      );
    }
    const now = await monitoring.check(monitorId).catch((error: unknown) => {
      if (error instanceof StatusError && [404, 405, 409].includes(error.status)) {
        throw new CommandError(
          `${shortened(name, 60)} can’t be checked now: it is paused, removed or waiting for pings, or the monitoring service does not offer this.`,
        );
      }
      throw error;
    });
    const title = `${shortened(now.name, 100)} is ${stateInWords(now.status)}`;
    const text = now.status_reason
      ? `Checked just now: ${now.status_reason}`
      : `Checked just now${typeof now.response_time_ms === 'number' ? `, answered in ${Math.round(now.response_time_ms)} ms` : ''}.`;
    return toAsker(textCard(listTone([now]), title, text));
  },
});

const question = (name: string, summary: string, text: string) =>
  button({
    name,
    summary,
    // Each thread has an answer of its own; somebody may ask once more when something has happened since.
    once: ({ incident }, { place, thread = '' }) => ({
      key: `${name} ${incident} ${conversationKey(place, thread)}`,
      keepMs: 10_000,
      shown: 'The answer is in the thread.',
    }),
    async run({ incident: id }, { incidents, ask, handling, place, person }) {
      incidents.get(id);
      return ask.answer({ handling, question: text, place, person });
    },
  });

/** What buttons can do; nobody types these. */
export const incidentActions = [
  acknowledge,
  snooze,
  unsnooze,
  close,
  check,
  question('incident why', 'Ask the model why', WHY),
  question('incident summary', 'Draft a postmortem of the incident', POSTMORTEM),
];
