/** How a family of Claude models takes a request. */
interface ClaudeFamily {
  models: RegExp;
  /** Takes `temperature` and `top_p`, though never both; the others refuse either. */
  sampling: boolean;
  /** The most tokens of a reply. */
  replyTokens: number;
  /** Thinks unless it is told not to. */
  thinksByDefault: boolean;
}

/**
 * The families of Claude models; the first that fits counts. Names that are not here yet are taken for newer ones.
 * Sources: Claude API docs, "Models overview", "Migration guide", "What's new in Claude Opus 5", "Claude Haiku 5.5
 * migration guide", "What's new in Claude Opus 5.5" (thinking cannot be turned off there), as of November 2026;
 * earendil-works/pi#7961 measured which models refuse `temperature`.
 */
const CLAUDE: readonly ClaudeFamily[] = [
  { models: /^claude-3/, sampling: true, replyTokens: 4_096, thinksByDefault: false },
  {
    models: /^claude-opus-4(?:-[01])?(?:-20\d{6})?$/,
    sampling: true,
    replyTokens: 32_000,
    thinksByDefault: false,
  },
  {
    models: /^claude-(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-20\d{6})?$/,
    sampling: true,
    replyTokens: 64_000,
    thinksByDefault: false,
  },
  {
    models: /^claude-(?:opus|sonnet)-4-6/,
    sampling: true,
    replyTokens: 128_000,
    thinksByDefault: false,
  },
  {
    models: /^claude-(?:opus-5|sonnet-5|haiku-5-5)(?:-20\d{6})?$/,
    sampling: false,
    replyTokens: 128_000,
    thinksByDefault: true,
  },
  { models: /^/, sampling: false, replyTokens: 128_000, thinksByDefault: false },
];

/**
 * Tokens of a reply when the caller names no limit; the API wants one.
 * Our choice: long enough for any chat; an answer that is cut there says so with the finish reason `length`.
 */
const DEFAULT_REPLY_TOKENS = 16_384;

/**
 * The API's largest temperature. Our choice: more is lowered to it, as its own compatibility layer does.
 * Source: Claude API docs, "OpenAI SDK compatibility".
 */
const MAX_TEMPERATURE = 1;

/** What the API is told of sampling, length and thinking. */
export function steeringFor(
  model: string,
  request: {
    temperature?: number | null | undefined;
    top_p?: number | null | undefined;
    max_tokens?: number | null | undefined;
    thinking?: unknown;
  },
): Record<string, unknown> {
  const traits = CLAUDE.find(({ models }) => models.test(model));
  const { sampling = false, replyTokens = DEFAULT_REPLY_TOKENS, thinksByDefault } = traits ?? {};
  const { temperature, top_p, max_tokens, thinking } = request;
  return {
    max_tokens: Math.min(max_tokens ?? DEFAULT_REPLY_TOKENS, replyTokens),
    ...(sampling && oneOf(temperature, top_p)),
    // The contract's limit is that of the reply, and thinking would use it up. A caller can turn it on by this field.
    ...(thinksByDefault && thinking === undefined && { thinking: { type: 'disabled' } }),
  };
}

/**
 * Newer models refuse temperature and top_p together. Our choice: the temperature counts, unless it is the default.
 * Source: gateway contract, "top_p: an alternative to temperature"; OpenHands/software-agent-sdk#1945.
 */
function oneOf(temperature?: number | null, topP?: number | null): Record<string, number> {
  if (temperature != null && (temperature !== 1 || topP == null)) {
    return { temperature: Math.min(temperature, MAX_TEMPERATURE) };
  }
  return topP == null ? {} : { top_p: topP };
}
