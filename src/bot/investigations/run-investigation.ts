import { estimateJsonTokens } from '../../contracts/tokens.ts';
import { AnswerRun } from '../ask/answer-run.ts';
import { budgetInWords } from '../ask/budgets.ts';
import { isOffline } from '../ask/catalog.ts';
import { conversationKey } from '../ask/conversations.ts';
import { INVESTIGATION } from '../commands/incident-actions.ts';
import type { BotCore, BotParts } from '../commands/open-features.ts';
import { incidentOfThread } from '../incidents/incident-service.ts';
import type { Delivery, Investigation } from '../incidents/watch-state.ts';
import { CommandError } from '../shared/errors.ts';
import { explainError } from '../shared/explain-error.ts';
import type { AnswerStep } from '../shared/invocation.ts';
import { type Place, parsePlace, placeKey } from '../shared/place.ts';
import { inWords, shortened } from '../shared/text-format.ts';
import { CONFIDENCE, type Conclusion } from './conclusion.ts';
import type { LookUpOptions } from './found-fact.ts';
import { type InvestigationReport, investigate } from './investigate.ts';
import { brokenCard, concludedCard, reportText } from './investigation-card.ts';
import { type LookedUp, lookUp } from './look-ups.ts';

/** The user of the tokens, in the usage log. */
const INVESTIGATOR = { id: 'investigations', name: 'Investigations' };

const DAY_MS = 86_400_000;
const MAX_LIKELY = 120;

const NO_MODEL =
  'No model is connected, so nothing was investigated. Ask your Askwatch admin to connect one.';
const GONE = 'This incident is too old. Askwatch no longer has its data.';

/** Advice for a person who asked. The message has a button instead. */
const TO_ASKER = / (?:Rephrase the question and ask again|Ask for less at a time|Ask again)\.$/;

/** The end of one run. */
interface RunOutcome {
  card: Investigation['card'];
  /** Shown on the alert. */
  likely?: Delivery['likely'];
  /** True if its thread remembers it. */
  isRemembered: boolean;
}

interface RunOptions {
  core: BotCore;
  bot: BotParts;
  signal: AbortSignal;
  onSteps(steps: readonly AnswerStep[]): void;
}

/** Runs an investigation once and stores its report in the thread's memory. Never throws; after an abort, nobody shows the outcome. */
export async function runInvestigation(
  investigation: Investigation,
  options: RunOptions,
): Promise<RunOutcome> {
  const { core, signal } = options;
  const place = placeOf(investigation);
  const run = new AnswerRun(signal, core.settings.askStallMs);
  let lookedUp: LookedUp = { facts: [], missing: [] };
  let budget = 0;
  // A model that is cut off reports no usage, but has read the facts.
  const tokens = () => run.tokens ?? (run.cutNote && Math.ceil(estimateJsonTokens(lookedUp)));
  const footer = async () => {
    const used = (await tokensToday(place, core)) + (tokens() || 0);
    const spent = `${used.toLocaleString('en')} of ${budget.toLocaleString('en')} tokens today`;
    return run.model === undefined ? spent : `${run.footer()} · ${spent}`;
  };
  try {
    budget = await budgetOf(place, core);
    // First, so that nothing is spent on look-ups for a channel without a budget.
    await requireBudget(place, budget, core);
    lookedUp = await lookUpFor(investigation, core, run.signal);
    const report = await reportFor(investigation, lookedUp, { ...options, budget, run });
    await storeReport(investigation, { report, lookedUp, run }, options);
    const { conclusion } = report;
    const card = concludedCard(conclusion, await footer());
    return { card, likely: likelyOf(conclusion), isRemembered: true };
  } catch (error) {
    const why = (run.cutNote ?? explain(error, core)).replace(TO_ASKER, '');
    const spent = budget === 0 ? undefined : await footer().catch(() => undefined);
    return { card: brokenCard(why, lookedUp.facts, spent), isRemembered: false };
  } finally {
    run.end();
    await logUsage(place, { run, tokens: tokens() || undefined }, core);
  }
}

/** Looks up the incident of a thread. Throws a `CommandError` if it is no longer kept. */
async function lookUpFor(
  investigation: Investigation,
  core: BotCore,
  signal: AbortSignal,
): Promise<LookedUp> {
  const { place, under } = investigation;
  const found = incidentOfThread(core.state.current()?.alerts, place, under.thread);
  if (!found) throw new CommandError(GONE);
  return await lookUp(found, lookUpOptions(core, placeOf(investigation), signal));
}

export const lookUpOptions = (
  { state, monitoring, conversations, settings, clock }: BotCore,
  place: Place,
  signal: AbortSignal,
): LookUpOptions => ({
  monitoring,
  conversations,
  watching: state.current(),
  place,
  pagesUrl: settings.pagesUrl,
  nowMs: clock.nowMs(),
  signal,
});

async function reportFor(
  investigation: Investigation,
  lookedUp: LookedUp,
  { core, bot, budget, run, onSteps }: RunOptions & { budget: number; run: AnswerRun },
): Promise<InvestigationReport> {
  const place = placeOf(investigation);
  const { model: channelModel } = await core.channelDefaults.of(place);
  const model = await core.catalog.chatModel(channelModel);
  if (isOffline(model)) throw new CommandError(NO_MODEL);
  return await investigate(lookedUp, {
    model,
    gateway: core.gateway,
    tools: await bot.toolsByItself({
      place,
      thread: investigation.under.thread,
      id: investigation.id,
      person: INVESTIGATOR,
    }),
    async requireBudget() {
      await requireBudget(place, budget, core, run.tokens);
      await core.budgets.require(place, run.tokens);
    },
    run,
    onSteps,
  });
}

/** The thread remembers the report, and it can be rated like an answer. */
async function storeReport(
  { id, place, under }: Investigation,
  { report, lookedUp, run }: { report: InvestigationReport; lookedUp: LookedUp; run: AnswerRun },
  { core, bot }: RunOptions,
): Promise<void> {
  const calls = report.tools.map(({ title, input, result }) => ({ tool: title, input, result }));
  const turn = {
    id,
    question: INVESTIGATION,
    answer: reportText(report, lookedUp),
    atMs: core.clock.nowMs(),
    generated: { model: run.model, times: run.times() },
  };
  await bot.keepCalls({ place, thread: under.thread }, id, calls);
  await core.conversations.add(conversationKey(placeOf({ place }), under.thread), turn, id);
}

const likelyOf = ({ cause, confidence }: Conclusion): Delivery['likely'] =>
  cause === undefined
    ? undefined
    : { label: CONFIDENCE[confidence], cause: shortened(cause, MAX_LIKELY) };

/** Tokens a day. Throws a `CommandError` if a channel's investigations are off. */
export async function budgetOf(place: Place, { channels }: Pick<BotCore, 'channels'>) {
  const { investigate: setting } = await channels.settingsOf(placeKey(place));
  if (setting) return setting.tokensPerDay;
  throw new CommandError(
    'Investigations are off in this channel. Turn them on: /monitor investigate on',
  );
}

/** Throws a `CommandError` if a channel's investigations have used up their budget of the day, in UTC. */
export async function requireBudget(
  place: Place,
  budget: number,
  core: Pick<BotCore, 'usageLog' | 'clock'>,
  underWay = 0,
): Promise<void> {
  const used = (await tokensToday(place, core)) + underWay;
  if (used < budget) return;
  const leftMs = DAY_MS - (core.clock.nowMs() % DAY_MS);
  throw new CommandError(
    `This channel’s investigations have used up their ${budgetInWords({ tokens: budget, per: 'day' })}. The next one can start in ${inWords(leftMs)}. “Ask why” still answers. To change the budget: /monitor investigate on budget=100k/day`,
  );
}

/** Tokens that a channel's investigations have used since midnight, UTC. */
export async function tokensToday(
  place: Place,
  { usageLog, nowMs = Date.now() }: Pick<BotCore, 'usageLog'> & { nowMs?: number },
): Promise<number> {
  const fromMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const used = await usageLog.since(place, fromMs);
  return used
    .filter(({ person }) => person === INVESTIGATOR.id)
    .reduce((sum, { tokens = 0 }) => sum + tokens, 0);
}

async function logUsage(
  place: Place,
  { run, tokens }: { run: AnswerRun; tokens: number | undefined },
  { usageLog, clock, log }: BotCore,
) {
  const { model, lookups, lookupTokens } = run;
  if (model === undefined) return;
  const { id: person, name } = INVESTIGATOR;
  const used = { model, tokens, lookupTokens, lookups: lookups > 0 ? lookups : undefined };
  await usageLog.add({ atMs: clock.nowMs(), place, person, name, ...used }).catch((error) => {
    log.error({ err: error }, 'could not store the usage of an investigation');
  });
}

function explain(error: unknown, { log }: BotCore): string {
  if (error instanceof CommandError) return error.message;
  const explained = explainError(error, 'model gateway');
  log[explained === undefined ? 'error' : 'warn']({ err: error }, 'an investigation failed');
  return (
    explained ?? 'The investigation failed. Your Askwatch admin can find the cause in the log.'
  );
}

function placeOf({ place: key }: Pick<Investigation, 'place'>): Place {
  const place = parsePlace(key);
  if (!place) throw new Error(`“${key}” is not a place.`);
  return place;
}
