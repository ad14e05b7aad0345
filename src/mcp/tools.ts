import { z } from 'zod';
import { type Card, factText } from '../bot/shared/card.ts';
import { shortened } from '../bot/shared/text-format.ts';
import { toolsFor } from '../bot/tools/registry.ts';
import { checkToolInput, runTool } from '../bot/tools/run-tool.ts';
import { isoTime, type Tool, type WriteContext, type WritingTool } from '../bot/tools/tool.ts';
import { addedPath } from '../contracts/monitoring-additions.ts';
import { type Caller, doFor, Refusal } from './caller.ts';

/** These tools act on the bot's incidents, so the process that has the bot runs them. */
const OF_THE_BOT = ['acknowledge_incident', 'snooze_incident'];

/** It changes no setting, but sends a request out and may change a status: the monitoring service takes it as a change. */
const CHECK = 'check_monitor';

const CREATE = 'create_monitor';

/** A field of results for what other systems report to a channel: it is private to that channel, and there is none here. */
const OF_CHANNEL = 'reported_alerts';

/** If it differs from a chat, such as without a channel. */
const DESCRIPTIONS: Partial<Record<string, string>> = {
  list_monitors:
    'Lists monitors with status, since when and why they are not UP, and counts by status.',
  list_incidents:
    'Lists incidents (outages) of one monitor or all in a time span, newest first, with start, end and cause, and totals by monitor.',
  acknowledge_incident:
    'Acknowledges the ongoing incident of one monitor in the name of the key, in every channel that shows it.',
  snooze_incident: 'For an hour, mutes new outages of one monitor that is down.',
  [CREATE]:
    'Adds a monitor for an address, a text in a page, a DNS name, a port of a host, a certificate or a job. Its alerts go only to channels that get the alerts of all monitors.',
};

/** The result of a tool that changes something. */
const Done = z.object({
  done: z.string(),
  details: z.record(z.string(), z.string()),
  notes: z.array(z.string()),
});

/** The answer to a call: what it found, or a sentence that says why it found nothing. */
export type CallResult = {
  content: [{ type: 'text'; text: string }];
} & ({ structuredContent: Record<string, unknown> } | { isError: true });

/** The tools as other assistants call them. */
export function createTools({ writes, hasBot }: { writes: boolean; hasBot: boolean }) {
  const tools = toolsFor({ hasPlace: false }).filter(
    ({ name }) => hasBot || !OF_THE_BOT.includes(name),
  );
  const definitions = new Map(tools.map((tool) => [tool, definitionOf(tool)]));

  /** Why a caller may not call it, a sentence; `undefined` when they may. */
  function whyNot({ name, access }: Tool, { key }: Caller): string | undefined {
    if (access === 'writes' && !writes) {
      return 'Nothing has changed: changes over MCP are off. The operator can allow them with MCP_WRITES.';
    }
    if (key.readOnly && isChange({ name, access })) {
      return `Nothing has changed: this key is read-only, and ${name} needs a key that can write.`;
    }
    return undefined;
  }

  return {
    /** Tools that the caller may use. */
    list: (caller: Caller) =>
      tools.flatMap((tool) => {
        const definition = definitions.get(tool);
        return definition && whyNot(tool, caller) === undefined ? [definition] : [];
      }),
    /** Calls one; `undefined` when there is none of this name. Never throws. */
    async call(
      caller: Caller,
      { name, input, gone }: { name: string; input: unknown; gone: AbortSignal },
    ): Promise<CallResult | undefined> {
      const tool = tools.find((one) => one.name === name);
      if (!tool) return undefined;
      try {
        const refusal = whyNot(tool, caller);
        if (refusal !== undefined) throw new Refusal(refusal);
        const structuredContent = await doFor(caller, gone, async (context) => {
          const checked = checkToolInput(tool, input ?? {});
          if (tool.access === 'reads') return (await runTool(tool, checked, context)).output;
          const done = await change(tool, checked, context);
          const { key, requestId, log } = caller;
          log.info({ key: key.id, tool: name, reqId: requestId }, 'a tool made a change over MCP');
          return done;
        });
        const text = JSON.stringify(structuredContent);
        return { content: [{ type: 'text', text }], structuredContent };
      } catch (error) {
        const text = (error as Error).message;
        return { content: [{ type: 'text', text }], isError: true };
      }
    },
    /** The names of all tools, for errors about an unknown one. */
    names: () => tools.map(({ name }) => name).join(', '),
  };
}

const isChange = ({ name, access }: Pick<Tool, 'name' | 'access'>) =>
  access === 'writes' || name === CHECK;

/** A tool as a list has it; to read a schema takes long, and none ever changes. */
function definitionOf(tool: Tool) {
  const { name, title, description, access } = tool;
  const { $schema: _, ...output } = z.toJSONSchema(access === 'reads' ? tool.output : Done, {
    // Most of the text that an assistant reads with every question would be how a time is written.
    override({ jsonSchema }) {
      delete jsonSchema.pattern;
      delete jsonSchema.properties?.[OF_CHANNEL];
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return {
    name,
    title,
    description: DESCRIPTIONS[name] ?? description,
    inputSchema: { ...tool.inputSchema, type: 'object' as const },
    outputSchema: { ...output, type: 'object' as const },
    annotations: {
      title,
      readOnlyHint: !isChange(tool),
      destructiveHint: access === 'writes' && (tool.isDestructive ?? false),
      idempotentHint: name !== CREATE,
      openWorldHint: name === CHECK,
    },
  };
}

/** Does at once what is proposed in a chat: there is nobody here to confirm it, and the assistant's program asks its user. */
async function change(
  tool: WritingTool,
  input: Record<string, unknown>,
  context: WriteContext,
): Promise<z.infer<typeof Done>> {
  const draft = tool.draft.parse(await tool.prepare(input, context));
  return doneOf(await tool.carryOut(draft, context));
}

function doneOf({ title, parts, actions = [] }: Card): z.infer<typeof Done> {
  const facts = parts.flatMap((part) => (part.kind === 'facts' ? part.facts : []));
  const notes = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const push = actions.find(({ command }) => command === 'monitor push address');
  if (push) {
    const path = addedPath('pushToken', { id: push.values.monitor ?? '' });
    notes.push(
      `There is no button here: to create a push address, POST ${path} with the same key.`,
    );
  }
  const details = facts.map((fact) => [fact.label, factText(fact, isoTime)]);
  return { done: shortened(title, 300), details: Object.fromEntries(details), notes };
}
