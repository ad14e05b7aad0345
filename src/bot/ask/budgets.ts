import { CommandError } from '../shared/errors.ts';
import { type Place, placeKey } from '../shared/place.ts';
import { inWords } from '../shared/text-format.ts';
import type { UsageLog } from '../usage/usage-log.ts';
import type { Budget, ChannelDefaults } from './channel-defaults.ts';

export type Budgets = ReturnType<typeof createBudgets>;

/** A channel's usage is read again after this, so other processes' answers count a little later. */
const KEEP_MS = 5_000;

const DAY_MS = 86_400_000;

export function createBudgets(options: {
  channelDefaults: Pick<ChannelDefaults, 'of'>;
  usageLog: Pick<UsageLog, 'since'>;
  nowMs?: () => number;
}) {
  const { channelDefaults, usageLog, nowMs = () => Date.now() } = options;
  const cache = new Map<string, { fromMs: number; readAtMs: number; tokens: number }>();

  async function usedSince(place: Place, fromMs: number): Promise<number> {
    const key = placeKey(place);
    const cached = cache.get(key);
    const isFresh = cached?.fromMs === fromMs && nowMs() - cached.readAtMs < KEEP_MS;
    if (isFresh) return cached.tokens;
    const answers = await usageLog.since(place, fromMs);
    const tokens = answers.reduce((sum, one) => sum + (one.tokens ?? 0), 0);
    for (const [other, { readAtMs }] of cache) {
      if (nowMs() - readAtMs >= KEEP_MS) cache.delete(other);
    }
    cache.set(key, { fromMs, readAtMs: nowMs(), tokens });
    return tokens;
  }

  return {
    /** A channel's budget and usage; `undefined` if it has no budget. */
    async of(place: Place) {
      const { budget } = await channelDefaults.of(place);
      if (!budget) return undefined;
      const { fromMs, untilMs } = periodOf(budget, nowMs());
      return { budget, used: await usedSince(place, fromMs), endsInMs: untilMs - nowMs() };
    },
    /**
     * Throws a `CommandError` if the channel has used up its budget. `underWay` are the tokens of an answer that isn't in the
     * usage log yet.
     */
    async require(place: Place, underWay = 0) {
      const now = await this.of(place);
      if (!now || now.used + underWay < now.budget.tokens) return;
      throw new CommandError(
        `This channel has used up its budget of ${budgetInWords(now.budget)}. It resets in ${inWords(now.endsInMs)}. People who can manage the channel can change it with /askwatch budget.`,
      );
    },
  };
}

/** The day or month in UTC. */
function periodOf({ per }: Budget, nowMs: number): { fromMs: number; untilMs: number } {
  if (per === 'day') {
    const fromMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
    return { fromMs, untilMs: fromMs + DAY_MS };
  }
  const now = new Date(nowMs);
  const monthMs = (more: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + more);
  return { fromMs: monthMs(0), untilMs: monthMs(1) };
}

/** `200,000 tokens a day`. */
export const budgetInWords = ({ tokens, per }: Budget) =>
  `${tokens.toLocaleString('en')} tokens a ${per}`;

const TIMES: Readonly<Record<string, number>> = { '': 1, k: 1_000, m: 1_000_000 };

/** One question needs more. */
const MIN_TOKENS = 1_000;
const MAX_TOKENS = 100_000_000_000;

/** Reads a budget such as `200k/day`; `undefined` if it isn't one. Pure. */
export function readBudget(text: string): Budget | undefined {
  const [, digits = '', times = '', per] =
    /^(\d{1,15}(?:\.\d{1,3})?) ?([km]?)(?: ?tokens)? ?(?:\/|a|per) ?(day|month)$/.exec(
      text.trim().toLowerCase().replaceAll(',', ''),
    ) ?? [];
  const tokens = Math.round(Number(digits) * (TIMES[times] ?? 1));
  if (per === undefined || tokens < MIN_TOKENS || tokens > MAX_TOKENS) return undefined;
  return { tokens, per: per === 'day' ? 'day' : 'month' };
}
