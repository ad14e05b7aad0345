import {
  findInThread,
  indexNames,
  type NamedSubject,
  planAnswer,
} from '../../../src/bot/rules/rules.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import type { toolRunner } from './tool-runner.ts';

/** Answers a question by rules, over the results of the real tools; ` > ` stands between the questions of a thread. */
export async function answerOver(
  thread: string,
  options: {
    monitors: ReadonlyArray<Pick<Monitor, 'id' | 'name' | 'target' | 'tags'>>;
    run: ReturnType<typeof toolRunner>;
    nowMs: number;
    zone: string;
  },
): Promise<string> {
  const { monitors, run, ...clock } = options;
  const subjects = monitors.map(({ id, name, target, tags }): NamedSubject => {
    return { id, name, target, tags, kind: 'monitor' };
  });
  const questions = thread.split(' > ');
  const turns = questions.slice(0, -1).map((question) => ({ question, answer: '' }));
  const context = { ...clock, index: indexNames(subjects) };
  const plan = planAnswer(findInThread(questions.at(-1) ?? '', turns, context), clock);
  if (!plan) return 'only a model can answer';
  if ('text' in plan) return plan.text;
  if ('change' in plan) return JSON.stringify(plan.change);
  const texts = plan.views.map(async ({ lookups, write }) => {
    const results = lookups.map(({ tool, input }) => run(tool, input).catch((error) => error));
    const [first, ...others] = await Promise.all(results);
    if (first instanceof Error) return first.message;
    return write(first.output, ...others.map((one) => one?.output));
  });
  return (await Promise.all(texts)).join('\n\n');
}
