import type { Command } from '../../bot/commands/command.ts';
import type { UserInput } from '../answers/said.ts';
import { fieldsOf, textOf } from '../api/payload.ts';
import { FORM, type FormOrigin } from '../render/render-form.ts';

/** A form of ours as somebody has filled it in, or is about to. */
export interface FilledForm {
  viewId: string;
  /** Of the view as it was then: Slack refuses to change a later one by it. */
  hash: string;
  command: Command;
  origin: FormOrigin;
  values: Record<string, string>;
  person: { id: string; name: string };
}

/**
 * What stands in a form of ours; undefined for anything else. Takes the payload as it came and believes none of it.
 * Sources: Slack docs, "view_submission payload", "block_actions payload", "View state".
 */
export function parseForm(payload: unknown, commands: readonly Command[]): FilledForm | undefined {
  const { view, user } = fieldsOf(payload);
  const { id, hash, callback_id, private_metadata, state } = fieldsOf(view);
  const person = fieldsOf(user);
  const origin = originOf(private_metadata);
  const command = commands.find(({ name, form }) => form && name === origin?.command);
  if (callback_id !== FORM || !origin || !command) return undefined;
  if (typeof id !== 'string' || typeof hash !== 'string' || typeof person.id !== 'string') {
    return undefined;
  }
  return {
    viewId: id,
    hash,
    command,
    origin,
    values: valuesIn(state),
    person: { id: person.id, name: textOf(person.name) ?? textOf(person.username) ?? person.id },
  };
}

/** A submitted form as what its person said in the channel where they opened it. */
export function inputOf({ viewId, command, origin, values, person }: FilledForm): UserInput {
  const { channel, responseUrl } = origin;
  return {
    invocation: {
      id: `slack:${viewId}`,
      request: { command: command.name, values },
      place: { platform: 'slack', channel },
      person,
    },
    channel,
    addressed: true,
    inThread: false,
    hidden: true,
    ...(responseUrl !== undefined && { responseUrl }),
  };
}

function originOf(text: unknown): FormOrigin | undefined {
  try {
    const { command, channel, responseUrl, home } = fieldsOf(JSON.parse(String(text)));
    if (typeof command !== 'string' || typeof channel !== 'string') return undefined;
    return {
      command,
      channel,
      home: home === true,
      ...(typeof responseUrl === 'string' && { responseUrl }),
    };
  } catch {
    // Somebody else's form.
    return undefined;
  }
}

/** One value for each block, which has the name of its input. */
function valuesIn(state: unknown): Record<string, string> {
  const blocks = Object.entries(fieldsOf(fieldsOf(state).values));
  return Object.fromEntries(
    blocks.flatMap(([name, block]) => {
      const { value, selected_option } = fieldsOf(fieldsOf(block)[name]);
      const text = textOf(value) ?? textOf(fieldsOf(selected_option).value);
      return text === undefined ? [] : [[name, text]];
    }),
  );
}
