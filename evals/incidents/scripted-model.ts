import type { Said } from '../../test/fakes/model-provider.ts';
import { at, type IncidentCase } from './case.ts';
import { INCIDENT_CASES } from './cases/all.ts';

// biome-ignore lint/suspicious/noExplicitAny: the body of a request
type Body = any;

const LINE = /^(F\d+) (.*)$/gm;

/** The facts in a request, by id. */
export const factsIn = ({ messages }: Body) =>
  [...String(messages[1].content).matchAll(LINE)].map(([, id = '', text = '']) => ({ id, text }));

/** Results of tools in a request, in order. */
export const resultsIn = ({ messages }: Body): string[] =>
  messages.flatMap(({ role, content }: Body) => (role === 'tool' ? [content] : []));

/** The case that a request is about. */
function caseOf(facts: ReturnType<typeof factsIn>): IncidentCase {
  const found = INCIDENT_CASES.find(({ isAboutAlert, alerts, monitors, startedAt }) => {
    const name = isAboutAlert ? alerts?.[0]?.name : monitors[0]?.name;
    const begin = `${new Date(at(startedAt)).toISOString().slice(0, 19)}Z ${name} `;
    return facts.some(({ text }) => text.startsWith(begin) && text.includes(' became '));
  });
  if (!found) throw new Error('The request is about no case.');
  return found;
}

/**
 * A model that can only be right if the request shows the cause: it calls the tools that have entries about the case, and
 * cites each fact and each part of a result that has the words which show the cause. Without any it knows no cause.
 */
export function carefulModel(body: Body): Said {
  const facts = factsIn(body);
  const { found = {}, shownBy, cause, nextStep } = caseOf(facts);
  const results = resultsIn(body);
  const tools = Object.keys(found);
  if (results.length === 0 && tools.length > 0) {
    return { calls: tools.map((tool) => ({ name: `team__${tool}`, arguments: '{}' })) };
  }
  const isShown = ({ text }: { text: string }) => shownBy.some((words) => words.test(text));
  const cited = [
    ...facts.filter(isShown).map(({ id }) => ({ fact: id })),
    ...results.flatMap((result, no) => {
      const entries = JSON.parse(result).result ?? '';
      const quotes = shownBy.flatMap((words) => words.exec(entries)?.[0] ?? []);
      return quotes.map((quote) => ({ fact: `T${no + 1}`, quote }));
    }),
  ];
  const unrelated = facts.find(({ text }) => text.includes('ci-runner-3'));
  return JSON.stringify({
    cause: cited.length > 0 ? cause : '',
    confidence: cited.length > 0 ? 'high' : 'low',
    evidence: cited,
    ruled_out: unrelated ? [{ what: 'A full disk', fact: unrelated.id }] : [],
    next_step: nextStep,
    not_seen: ['metrics of the hosts'],
  });
}
