import { bold, plain } from '../shared/inert-markdown.ts';
import { isDown } from '../shared/status.ts';
import { shownTarget } from '../shared/target-link.ts';
import { has, isAnswerable, type ParsedQuestion, TOPICS } from './find.ts';
import { listOf } from './languages/vocabulary.ts';
import type { NamedSubject } from './names.ts';
import type { ChangeRequest, RequestVerb } from './requests.ts';
import { alertView } from './views/monitor-lists.ts';
import { checkView, monitorView } from './views/monitor-view.ts';
import { overviewsOf } from './views/overviews.ts';
import { isoTime, type Lookup, look, type View, type ViewContext } from './views/view.ts';

export { mayConcernServices, type ParsedQuestion } from './find.ts';
export { indexNames, type NamedSubject, type NameIndex } from './names.ts';
export { type EarlierTurn, findInThread } from './threads.ts';
export type { Lookup, View } from './views/view.ts';

/** An answer to write: views of facts, a change to propose, or a text such as “Which one?”. */
export type AnswerPlan = { views: View[] } | { change: Lookup } | { text: string };

/** Monitors of one answer. An answer may make eight look-ups. */
const MAX_SUBJECTS = 4;
const MAX_WHOLE = 2;

const TOO_MANY = `I can look up ${MAX_SUBJECTS} monitors in one answer. Name fewer, or ask “is everything ok?”`;

/** Choices that a question back lists. */
const MAX_CHOICES = 10;

/** Plans the answer to a question; `undefined` if facts about services don't answer it. Pure. */
export function planAnswer(found: ParsedQuestion, context: ViewContext): AnswerPlan | undefined {
  if (found.choices.length === 0 && !found.request && isOfUnknown(found))
    return { text: noSuchName(found) };
  if (has(found, 'help') && !hasName(found)) return { text: HELP };
  // “Not tagged eu”.
  if (found.tags && has(found, 'except')) return undefined;
  // “And the non-EU one?”
  if (found.without !== undefined && hasName(found)) return undefined;
  // Only lists of states and incidents can leave something out.
  const isList = found.without !== undefined && has(found, ...LISTED);
  const isPartial =
    has(found, 'except') &&
    !isList &&
    (found.span !== undefined || hasName(found) || found.without !== undefined);
  return isPartial || !isAnswerable(found) ? undefined : planOf(found, context);
}

const HELP =
  'I answer questions about your services, for example “What is down?”, “What happened last night?” or “Which certificates expire soon?”, and about each monitor by its name. `/askwatch help` lists all commands.';

const LISTED = listOf('ok up down incident alert degraded paused flapping status');

const hasName = ({ subjects, choices, group, tags }: ParsedQuestion) =>
  subjects.length + choices.length > 0 || group !== undefined || tags !== undefined;

/** Plans facts for a model, which knows better what a question is about: whenever a name or a topic was found. Pure. */
export function planFacts(found: ParsedQuestion, context: ViewContext): AnswerPlan | undefined {
  if (!hasName(found) && !has(found, ...TOPICS)) return undefined;
  // “Write a text that makes people pause” requests nothing.
  const request = isAnswerable(found) ? found.request : undefined;
  const tags = has(found, 'except') ? undefined : found.tags;
  return planOf({ ...found, tags, request }, context);
}

function planOf(found: ParsedQuestion, context: ViewContext): AnswerPlan | undefined {
  const { subjects, choices, request } = found;
  if (choices.length > 0 && request?.verb !== 'watch') return { text: whichOne(found) };
  if (request) return planChange(found, request, context);
  if (subjects.length > MAX_SUBJECTS) return { text: TOO_MANY };
  const views =
    subjects.length > 0
      ? subjects.map((one) => viewOf(one, found, context))
      : overviewsOf(found, context);
  return views.length > 0 ? { views } : undefined;
}

function viewOf(subject: NamedSubject, found: ParsedQuestion, context: ViewContext): View {
  if (subject.kind === 'alert') return alertView(subject, context);
  return monitorView(subject, found, context, { isShort: found.subjects.length > MAX_WHOLE });
}

/** Verbs of requests to change a monitor. */
const CHANGES = listOf('pause resume snooze acknowledge remove rename');

/** True for a question about the state of one thing, or a request to change one, that has none of the names. */
function isOfUnknown(found: ParsedQuestion): boolean {
  const { unknown, span } = found;
  const isOfOne = !has(found, 'general', 'which', 'all', 'howMany', 'usage', 'here');
  const isAsked =
    has(found, ...CHANGES) || (has(found, ...TOPICS) && !(span && has(found, 'incident')));
  // Short unknown words are “how” and “w8”, not names.
  const isName = unknown.length <= 2 && unknown.some((word) => word.length > 3);
  return !hasName(found) && isOfOne && isAsked && isName;
}

const noSuchName = ({ unknown }: ParsedQuestion) =>
  `I found no monitor called “${plain(unknown.join(' '))}”. See \`/monitor list\`. For anything else I need a language model.`;

function whichOne({ choices, subjects }: ParsedQuestion): string {
  const rows = choices
    .slice(0, MAX_CHOICES)
    .map(
      ({ name, target, kind }, at) =>
        `${at + 1}. ${bold(name)}${kind === 'monitor' && target !== undefined ? ` (${plain(shownTarget(target))})` : ''}`,
    );
  const left = choices.length - rows.length;
  const found =
    subjects.length > 0 ? `I found ${subjects.map(({ name }) => bold(name)).join(', ')}. ` : '';
  return [
    `${found}${choices.length} ${found ? 'other ' : ''}names match. Which one do you mean?`,
    '',
    ...rows,
    ...(left > 0 ? [`- and ${left} more`] : []),
  ].join('\n');
}

const TOOLS: Record<Exclude<RequestVerb, 'watch' | 'test'>, string> = {
  pause: 'pause_monitor',
  resume: 'resume_monitor',
  snooze: 'snooze_incident',
  remove: 'remove_monitor',
  acknowledge: 'acknowledge_incident',
  rename: 'change_monitor',
  set: 'change_monitor',
};

const UNCLEAR_TIME =
  'I can pause a monitor from now on, for example “for 2 hours” or “until 18:00”. Plan another time with `/monitor maintenance`.';

const NOT_OF_ALERTS =
  'That is an alert from another system. I can acknowledge it, or snooze it for an hour.';

function planChange(
  found: ParsedQuestion,
  request: ChangeRequest,
  context: ViewContext,
): AnswerPlan | undefined {
  const { verb, target, name, intervalSeconds, untilMs, isUnclear = false } = request;
  const settings = { name, interval_seconds: intervalSeconds };
  if (verb === 'watch') return { change: look('create_monitor', { target, ...settings }) };
  const [subject, ...others] = found.subjects;
  const isOne = subject ? !has(found, 'not', 'except') : found.unknown.length > 0;
  const isGroup = found.group !== undefined || found.tags !== undefined;
  const isOfMany = others.length > 0 || isGroup || (has(found, 'all') && !isOne);
  if (isOfMany) return { text: 'I can change one monitor at a time. Name only one.' };
  if (!subject) return undefined;
  const isOfAlert = verb === 'acknowledge' || (verb === 'snooze' && untilMs === undefined);
  if (subject.kind === 'alert' && !isOfAlert) return { text: NOT_OF_ALERTS };
  if (verb === 'test') return { views: [checkView(subject, context)] };
  if (isUnclear) return { text: UNCLEAR_TIME };
  if (untilMs !== undefined) {
    return { change: look('pause_monitor', { monitor: subject.id, until: isoTime(untilMs) }) };
  }
  const change = verb === 'rename' || verb === 'set' ? settings : {};
  return { change: look(TOOLS[verb], { monitor: subject.id, ...change }) };
}

/** Two questions about the monitors that there are. */
export function exampleQuestions(
  subjects: ReadonlyArray<NamedSubject & { status?: string }>,
): string[] {
  const monitors = subjects.filter(({ kind }) => kind === 'monitor');
  const first = monitors.find(({ status = 'UP' }) => isDown({ status })) ?? monitors[0];
  if (!first) return ['What is down?', 'Watch https://example.com every 5 minutes'];
  const second = monitors.find((one) => one !== first) ?? first;
  return [`Is ${first.name} up?`, `How was ${second.name} yesterday?`];
}
