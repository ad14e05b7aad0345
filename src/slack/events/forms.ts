import type { Logger } from 'pino';
import { formOf } from '../../bot/commands/form.ts';
import type { Bot } from '../../bot/platform.ts';
import type { UserInput } from '../answers/user-input.ts';
import { readFailure } from '../api/call-failure.ts';
import { isShowable, renderForm } from '../render/render-form.ts';
import type { Workspace } from '../workspaces/workspace.ts';
import { parseCommand, parseForm, type SlashCommand } from './parse-events.ts';

/** Shows forms of commands that are typed bare. */
export function createForms(options: {
  bot: Bot;
  log: Logger;
  qualify(workspace: Workspace, input: UserInput): UserInput;
}) {
  const { bot, log, qualify } = options;

  return {
    /** Opens the form of what was typed; false when it has none, or Slack does not show it. */
    async open(workspace: Workspace, typed: SlashCommand) {
      const command = formOf(`${typed.command} ${typed.text}`, bot.commands);
      if (!command) return false;
      const opened = await bot.openForm(
        command,
        qualify(workspace, parseCommand(typed)).invocation,
      );
      // Whoever gets no form gets the reply of the bare command.
      if ('card' in opened || !isShowable(opened.begin)) return false;
      const { channel_id: channel, response_url: responseUrl, trigger_id } = typed;
      const view = renderForm(command, { command: command.name, channel, responseUrl }, opened);
      try {
        await workspace.client.views.open({ trigger_id, view });
        return true;
      } catch (error) {
        log.warn({ reason: readFailure(error).code }, 'a form could not be shown');
        return false;
      }
    },
    /** Shows the inputs that go with what was chosen; false when that was in no form of ours. */
    async change({ client }: Workspace, payload: unknown) {
      const filled = parseForm(payload, bot.commands);
      if (!filled) return false;
      const { viewId, hash, command, origin, values } = filled;
      try {
        const view = renderForm(command, origin, { chosen: values });
        await client.views.update({ view_id: viewId, hash, view });
      } catch (error) {
        // Whoever chooses quickly changes it again.
        log.debug({ reason: readFailure(error).code }, 'a form could not be changed');
      }
      return true;
    },
  };
}
