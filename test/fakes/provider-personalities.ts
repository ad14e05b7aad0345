// biome-ignore lint/suspicious/noExplicitAny: the body of a request that may be wrong in any way
type Body = any;

/** A refusal, before it has the provider's own shape. */
export interface Refusal {
  status: number;
  message: string;
  param?: string;
  code?: string;
}

/** A provider's rules and errors, from its docs and from reported errors, independent of the gateway's code. */
export interface Personality {
  /** Fields of the body it takes; all, when absent. */
  takes?: readonly string[];
  /** The error for an unknown field. */
  unknownField?: (name: string, body: Body) => Refusal;
  /** Other refused requests. */
  refuses?: (body: Body) => Refusal | undefined;
  wrongKey: Refusal;
  /** The body of a refusal. */
  asBody: (refusal: Refusal) => unknown;
  /** Returns `n` choices; a provider that doesn't know `n` returns one. */
  givesChoices: boolean;
  /** When a stream carries the usage. */
  usage: 'asked' | 'always';
  /** Sent before the first chunk of a stream. */
  comment?: string;
  /** Pads its chunks unless it is asked not to. */
  pads?: boolean;
}

const conventionBody = ({ message, param, code }: Refusal) => ({
  error: { message, type: 'invalid_request_error', param: param ?? null, code: code ?? null },
});

const bad = (message: string, more: Partial<Refusal> = {}): Refusal => ({
  status: 400,
  message,
  ...more,
});

const SAMPLING = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'stop'];
const COMMON = ['model', 'messages', 'stream', 'n', 'max_tokens', 'tools', 'tool_choice', 'seed'];
const CONVENTION = [
  ...COMMON,
  ...SAMPLING,
  'stream_options',
  'max_completion_tokens',
  'response_format',
  'parallel_tool_calls',
  'reasoning_effort',
  'user',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'metadata',
  'store',
];

const convention = {
  wrongKey: { status: 401, message: 'Incorrect API key provided.', code: 'invalid_api_key' },
  asBody: conventionBody,
  givesChoices: true,
  usage: 'asked',
} as const satisfies Personality;

/** Says only what the convention says. */
export const plainPersonality: Personality = convention;

const openai: Personality = {
  ...convention,
  takes: CONVENTION,
  unknownField: (param) =>
    bad(`Unknown parameter: '${param}'.`, { param, code: 'unknown_parameter' }),
  pads: true,
  refuses(body) {
    const options = Object.keys(body.stream_options ?? {});
    const odd = options.find((name) => !/^include_(usage|obfuscation)$/.test(name));
    if (odd) return bad(`Unknown parameter: 'stream_options.${odd}'.`);
    if (!/^(o\d|gpt-[5-9])/.test(body.model) || /-chat/.test(body.model)) return undefined;
    for (const param of ['temperature', 'top_p']) {
      if (body[param] === undefined || body[param] === 1) continue;
      return bad(
        `Unsupported value: '${param}' does not support ${body[param]} with this model. Only the default (1) value is supported.`,
        { param, code: 'unsupported_value' },
      );
    }
    const refused = ['presence_penalty', 'frequency_penalty', 'stop', 'max_tokens'];
    const param = refused.find((name) => body[name] !== undefined);
    if (!param) return undefined;
    return bad(`Unsupported parameter: '${param}' is not supported with this model.`, {
      param,
      code: 'unsupported_parameter',
    });
  },
};

const gemini: Personality = {
  ...convention,
  takes: CONVENTION.filter((name) => !/penalty$|^(store|metadata|logit_bias)$/.test(name)),
  unknownField: (name) =>
    bad(`Invalid JSON payload received. Unknown name "${name}": Cannot find field.`),
  wrongKey: bad('API key not valid. Please pass a valid API key.'),
  asBody: ({ status, message }) => [
    { error: { code: status, message, status: 'INVALID_ARGUMENT', details: [] } },
  ],
};

/** The turns that Mistral takes after each role. */
const MISTRAL_TURNS: Record<string, string[]> = {
  begin: ['system', 'user'],
  system: ['system', 'user', 'assistant'],
  user: ['system', 'user', 'assistant'],
  assistant: ['user', 'assistant', 'tool'],
  tool: ['assistant', 'tool'],
};
const MISTRAL_FIELDS: Record<string, string[]> = {
  system: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls', 'prefix'],
  tool: ['role', 'content', 'name', 'tool_call_id'],
};

const mistral: Personality = {
  ...convention,
  takes: [
    ...COMMON.filter((name) => name !== 'seed'),
    ...SAMPLING,
    'random_seed',
    'stream_options',
    'safe_prompt',
    'response_format',
    'prediction',
    'parallel_tool_calls',
    'metadata',
    'reasoning_effort',
  ],
  unknownField: (name) => ({ status: 422, message: `extra_forbidden ${name}` }),
  asBody: ({ status, message }) => {
    const [type, at] = message.split(' ');
    const detail = [{ type, loc: ['body', ...(at ?? '').split('.')], msg: 'Not permitted' }];
    const said = status === 422 ? { detail } : message;
    return {
      object: 'error',
      message: said,
      type: 'invalid_request_error',
      param: null,
      code: null,
    };
  },
  usage: 'always',
  refuses(body) {
    const extra = (at: string) => ({ status: 422, message: `extra_forbidden ${at}` });
    if (body.stream_options?.include_usage !== undefined) {
      return extra('stream_options.include_usage');
    }
    if (body.temperature > 1.5) return { status: 422, message: 'less_than_equal temperature' };
    if (body.temperature === 0 && (body.top_p ?? 1) !== 1) {
      return bad('top_p must be 1 when using greedy sampling.');
    }
    if (body.temperature === 0 && (body.n ?? 1) !== 1) {
      return bad('n must be 1 when using greedy sampling.');
    }
    let before = 'begin';
    for (const [at, message] of body.messages.entries()) {
      const { role } = message;
      const odd = Object.keys(message).find((name) => !MISTRAL_FIELDS[role]?.includes(name));
      if (odd) return extra(`messages.${at}.${role}.${odd}`);
      if (!MISTRAL_TURNS[before]?.includes(role)) {
        return bad(`Unexpected role '${role}' after role '${before}'`, { code: '3230' });
      }
      before = role;
    }
    return before === 'user' || before === 'tool'
      ? undefined
      : bad(`Expected last role User or Tool for serving but got ${before}`);
  },
};

const groq: Personality = {
  ...convention,
  takes: CONVENTION.filter((name) => !/logprobs$|^logit_bias$/.test(name)),
  unknownField: (name) => bad(`property '${name}' is unsupported`),
  refuses(body) {
    if ((body.n ?? 1) !== 1) return bad("'n' : number must be at most 1");
    const at = body.messages.findIndex((message: object) => 'name' in message);
    return at === -1 ? undefined : bad(`'messages.${at}' : property 'name' is unsupported`);
  },
};

const xai: Personality = {
  ...convention,
  wrongKey: bad('Incorrect API key provided: xa***99. You can obtain an API key from there.'),
  asBody: ({ message }) => ({ code: 'Client specified an invalid argument', error: message }),
  refuses(body) {
    const refused = ['presence_penalty', 'frequency_penalty'];
    if (!/non-reasoning/.test(body.model)) refused.push('stop');
    const param = refused.find((name) => body[name] !== undefined);
    return param ? bad(`Model ${body.model} does not support parameter ${param}.`) : undefined;
  },
};

const deepseek: Personality = {
  ...convention,
  givesChoices: false,
  usage: 'always',
  refuses(body) {
    const at = body.messages.findIndex(({ role }: { role: string }) => role === 'developer');
    return at === -1 ? undefined : bad(`messages[${at}].role: unknown variant \`developer\``);
  },
};

const openrouter: Personality = {
  ...convention,
  wrongKey: { status: 401, message: 'No auth credentials found' },
  asBody: ({ status, message }) => ({ error: { code: status, message } }),
  givesChoices: false,
  usage: 'always',
  comment: ': OPENROUTER PROCESSING\n\n',
};

const ollama: Personality = { ...convention, givesChoices: false };

/** The providers that speak the chat-completions convention, each in its own way. */
export const PERSONALITIES = { openai, gemini, mistral, groq, xai, deepseek, openrouter, ollama };

/** Returns the refusal of a body: for wrong fields of the convention first, then for fields that this provider rejects. */
export function refusalOf(
  body: Body,
  models: Array<{ id: string }>,
  { takes, unknownField, refuses }: Personality,
): Refusal | undefined {
  if (typeof body !== 'object' || body === null) return bad('The body is not valid JSON.');
  if (typeof body.model !== 'string') return bad('you must provide a model parameter');
  if (!models.some(({ id }) => id === body.model)) {
    const message = `The model \`${body.model}\` does not exist or you do not have access to it.`;
    return { status: 404, message, code: 'model_not_found' };
  }
  const wrong =
    wrongMessages(body.messages) ??
    wrongToolTurns(body.messages) ??
    wrongTools(body) ??
    outOfRange(body);
  if (wrong) return wrong;
  if (body.stream_options != null && body.stream !== true) {
    const param = 'stream_options';
    return bad(`'${param}' is only allowed when 'stream' is enabled.`, { param });
  }
  const unknown = takes && Object.keys(body).find((name) => !takes.includes(name));
  return (unknown && unknownField?.(unknown, body)) || refuses?.(body);
}

function wrongMessages(messages: Body): Refusal | undefined {
  if (!Array.isArray(messages) || messages.length === 0) {
    return bad("Invalid 'messages': empty array.", { param: 'messages' });
  }
  const roles = ['system', 'user', 'assistant', 'developer', 'tool'];
  for (const [at, message] of messages.entries()) {
    if (!roles.includes(message?.role)) {
      return bad('Invalid role.', { param: `messages[${at}].role` });
    }
    const spoken = typeof message.content === 'string' || Array.isArray(message.content);
    if (!spoken && !message.tool_calls) {
      return bad('Invalid content.', { param: `messages[${at}].content` });
    }
  }
  return undefined;
}

/** The calls of an assistant's turn are answered, each, before anybody else speaks; nothing else is answered. */
function wrongToolTurns(messages: Body[]): Refusal | undefined {
  let known: string[] = [];
  let open = new Set<string>();
  for (const [at, { role, tool_calls, tool_call_id }] of [...messages, { role: 'end' }].entries()) {
    if (role === 'tool') {
      if (!known.includes(tool_call_id)) {
        return bad(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          { param: `messages[${at}].role` },
        );
      }
      open.delete(tool_call_id);
      continue;
    }
    if (open.size > 0) {
      return bad(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`,
        { param: `messages[${at}].role` },
      );
    }
    known = role === 'assistant' ? [tool_calls ?? []].flat().map((call) => call?.id) : [];
    open = new Set(known);
  }
  return undefined;
}

function wrongTools({ tools, tool_choice }: Body): Refusal | undefined {
  if (tools == null) {
    if (tool_choice == null) return undefined;
    const param = 'tool_choice';
    const message = `Invalid value for '${param}': '${param}' is only allowed when 'tools' are specified.`;
    return bad(message, { param });
  }
  if (!Array.isArray(tools) || tools.length === 0) {
    return bad("Invalid 'tools': empty array. Expected an array with minimum length 1.", {
      param: 'tools',
    });
  }
  for (const [at, tool] of tools.entries()) {
    const invalid = (field: string) => {
      const param = `tools[${at}].${field}`;
      return bad(`Invalid '${param}'.`, { param });
    };
    if (tool?.type !== 'function') return invalid('type');
    // A function without parameters needs none.
    const { name, parameters = {} } = tool.function ?? {};
    if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) return invalid('function.name');
    if (typeof parameters !== 'object' || parameters === null || Array.isArray(parameters)) {
      return invalid('function.parameters');
    }
  }
  return undefined;
}

const RANGES: Record<string, [number, number]> = {
  temperature: [0, 2],
  top_p: [0, 1],
  n: [1, 128],
  max_tokens: [1, 1e6],
  max_completion_tokens: [1, 1e6],
  presence_penalty: [-2, 2],
  frequency_penalty: [-2, 2],
};

function outOfRange(body: Body): Refusal | undefined {
  for (const [param, [min, max]] of Object.entries(RANGES)) {
    const value = body[param];
    if (value == null || (typeof value === 'number' && value >= min && value <= max)) continue;
    return bad(`Invalid '${param}'.`, { param });
  }
  return undefined;
}
