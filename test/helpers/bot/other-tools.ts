import type { OtherServer } from '../../../src/bot/tool-servers/known-server.ts';
import { createToolServer } from '../../../src/clients/tool-server.ts';
import type { Said, ScriptedCall } from '../../fakes/model-provider.ts';
import { startTestBot, type TestBot, type TestBotOptions } from '../bot.ts';
import { eventually } from '../eventually.ts';

type Allowed = Partial<Omit<OtherServer, 'client'>> & {
  url: string;
  token?: string;
  limits?: { listMs?: number; callMs?: number };
};

/** A server as it would be set up, with these tools. */
export function otherServer(
  name: string,
  { url, token, limits = {}, ...allowed }: Allowed,
): OtherServer {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: token };
  return {
    tools: [],
    writes: undefined,
    investigate: [],
    channels: undefined,
    ...allowed,
    client: createToolServer({ name, url, headers }, { version: '1.2.3', limits }),
  };
}

/** A bot that has read the tools of all responding servers. */
export async function startBotWithTools(
  toolServers: readonly OtherServer[],
  options: TestBotOptions = {},
): Promise<TestBot> {
  const bot = await startTestBot({
    models: [{ id: 'test-model', context_length: 100_000 }],
    ...options,
    toolServers,
  });
  await bot.bot.start([]);
  return bot;
}

/** A bot that may use these tools of one server, `docs`, and offers the last of them. */
export async function startBotWithDocs(
  { url }: { url: string },
  { tools = ['look'], ...options }: TestBotOptions & { tools?: string[] } = {},
): Promise<TestBot> {
  const bot = await startBotWithTools([otherServer('docs', { url, tools })], options);
  await untilOffered(bot, `docs__${tools.at(-1)}`);
  return bot;
}

/** Names of functions that a model was offered last. */
export const offeredTo = ({ provider }: Pick<TestBot, 'provider'>): string[] =>
  (provider.calls.at(-1)?.body.tools ?? []).map(
    ({ function: { name } }: { function: { name: string } }) => name,
  );

/** Asks until a function is offered, as it is soon after a start. */
export async function untilOffered(bot: TestBot, name: string) {
  bot.provider.answerWith('Hello.');
  await eventually(async () => {
    const reply = await bot.say('/ask how is it?');
    if (reply.kind !== 'answer') throw new Error('There was no answer.');
    for await (const _ of reply.stream(undefined)) {
      // Read to its end.
    }
    return offeredTo(bot).includes(name);
  });
}

/** A model that calls these, a list for each round, and then repeats what it was given. */
export function callingModel(...rounds: ScriptedCall[][]) {
  // biome-ignore lint/suspicious/noExplicitAny: the body of a request
  return (body: any): Said => {
    const given = body.messages.filter(({ role }: { role: string }) => role === 'tool');
    const round = body.messages.filter(
      ({ tool_calls }: { tool_calls?: unknown[] }) => tool_calls,
    ).length;
    const calls = rounds[round];
    if (calls && body.tool_choice !== 'none') return { calls };
    return given.map(({ content }: { content: string }) => content).join('\n') || 'Nothing.';
  };
}

export const callOf = (name: string, input: object = {}): ScriptedCall => ({
  name,
  arguments: JSON.stringify(input),
});
