import { z } from 'zod';
import { command, requiredText } from '../commands/command.ts';
import {
  type Card,
  type CardPart,
  codePart,
  compact,
  type Fact,
  factsPart,
  textCard,
  textPart,
} from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { inPlace, toAsker } from '../shared/invocation.ts';
import { placeKey } from '../shared/place.ts';
import { mayManage } from '../shared/rights.ts';
import { counted, shortened } from '../shared/text-format.ts';
import { differences } from './definition.ts';
import type { ChangedTool, ServerState } from './known-server.ts';
import { otherToolsOf } from './other-tools.ts';

const right = mayManage('see and accept tools from other servers');

/** Characters of a description, or of a difference between schemas. */
const MAX_SHOWN = 1_024;

/** Characters about one server, and names of tools that aren't set up. */
const MAX_SERVER = 700;
const MAX_OTHERS = 20;

/** Tools of other people's servers, and their changes. */
export const toolsCommand = command({
  name: 'askwatch tools',
  summary: 'Tools from other MCP servers: which ones are on, and which changes wait for approval',
  group: 'set up',
  right,
  input: z.object({
    change: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe('Which change to show; the first if omitted'),
  }),
  examples: ['/askwatch tools', '/askwatch tools change=2'],
  async run({ change = 1 }, call) {
    return toAsker(toolsCard(await otherToolsOf(call).states(), change));
  },
});

/** All servers, with one of the changes. Pure. */
function toolsCard(servers: readonly ServerState[], change: number): Card {
  if (servers.length === 0) {
    return textCard(
      'info',
      'No tools from other servers',
      '/ask can use tools from MCP servers that are listed in the file MCP_CONFIG. See docs/mcp.md.',
    );
  }
  const changes = servers.flatMap(({ name, tools }) =>
    tools.flatMap((tool) => (tool.state === 'changed' ? [{ server: name, ...tool }] : [])),
  );
  const on = servers.flatMap(({ tools }) => tools.filter(({ state }) => state === 'on'));
  const facts = factsPart(...servers.map(serverFact));
  const shown = changes[Math.min(change, changes.length) - 1];
  const title = `${counted(on.length, 'tool')} from ${counted(servers.length, 'server')} ${on.length === 1 ? 'is' : 'are'} on`;
  if (!shown) return { tone: 'info', title, parts: [facts], footer: FIRST_SEEN };
  return {
    tone: 'warning',
    title: `${title}, ${counted(changes.length, 'change')} ${changes.length === 1 ? 'waits' : 'wait'}`,
    parts: [...changeParts(shown), facts],
    footer: compact(
      'Askwatch does not check how servers describe their tools. Accept a change only if you know why it was made.',
      changes.length > 1 &&
        `The next change: /askwatch tools change=${(change % changes.length) + 1}`,
    ).join(' '),
    actions: [
      {
        label: `Accept ${shortened(shown.tool, 40)}`,
        command: 'tools accept',
        values: { change: shown.id },
      },
    ],
  };
}

function changeParts(change: ChangedTool & { server: string }): CardPart[] {
  const { server, tool, before, after } = change;
  const code = (text: string) => codePart(cut(text) || '(nothing)');
  return [
    textPart(`${tool} from ${server} has changed. It is off until someone accepts the change.`),
    ...differences(before, after).flatMap((one) => [
      textPart(`${one.what}, before:`),
      code(one.before),
      textPart('Now:'),
      code(one.after),
    ]),
  ];
}

const cut = (text: string) =>
  text.length > MAX_SHOWN
    ? `${text.slice(0, MAX_SHOWN)}\n[${text.length - MAX_SHOWN} characters more]`
    : text;

function serverFact({ name, address, health, tools, others, channels }: ServerState): Fact {
  const off = tools.flatMap((tool) => (tool.state === 'off' ? [`${tool.tool} (${tool.why})`] : []));
  const changed = tools.flatMap(({ state, tool }) => (state === 'changed' ? [tool] : []));
  const on = tools.flatMap((one) => {
    if (one.state !== 'on') return [];
    const marks = compact(
      one.isWrite && 'with Confirm',
      one.acceptedBy !== undefined && `accepted by ${one.acceptedBy}`,
    );
    return [marks.length > 0 ? `${one.tool} (${marks.join(', ')})` : one.tool];
  });
  const more = others.length > MAX_OTHERS ? ` and ${others.length - MAX_OTHERS} more` : '';
  const lines = compact(
    HEALTH[health.state],
    health.problem,
    address,
    channels && `In ${channels.map(placeKey).join(', ') || 'no channel'}.`,
    on.length > 0 && `On: ${on.join(', ')}.`,
    changed.length > 0 && `Changed: ${changed.join(', ')}.`,
    off.length > 0 && `Off: ${off.join(', ')}.`,
    tools.length === 0 && 'No tools are set up. List them under `tools` in the file.',
    others.length > 0 && `Not set up: ${others.slice(0, MAX_OTHERS).join(', ')}${more}.`,
  );
  return { label: name, value: shortened(lines.join('\n'), MAX_SERVER) };
}

const FIRST_SEEN =
  'A tool is used as it was described when first seen. Later changes must be accepted here.';

const HEALTH = {
  unknown: 'Not contacted yet.',
  answers: 'Connected.',
  fails: 'Connection failed.',
} as const;

/** The button under a change. */
export const acceptTool = command({
  name: 'tools accept',
  summary: 'Accept the change of a tool from another server',
  right,
  input: z.object({ change: requiredText(40, 'The change that the button belongs to') }),
  once: ({ change }) => ({
    key: `tools accept ${change}`,
    keepMs: 10 * 60_000,
    shown: 'The change is accepted.',
  }),
  async run({ change }, call) {
    const { person, log } = call;
    const by = shortened(person.name, 80);
    const accepted = await otherToolsOf(call).accept(change, by);
    if (!accepted) {
      throw new CommandError(
        'Nothing was accepted: the tool changed again, or someone else accepted it. Check again: /askwatch tools',
      );
    }
    const { server, tool } = accepted;
    log.info({ server, tool, person: person.id }, 'a changed tool of a server was accepted');
    const card = textCard(
      'good',
      `${tool} from ${server} is accepted`,
      'It is on again, as shown. Other changes: /askwatch tools',
    );
    return inPlace({ ...card, footer: `Accepted by ${by}` }, true);
  },
});
