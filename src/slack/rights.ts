import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import type { Invocation, Person } from '../bot/platform.ts';
import { readFailure } from './call-failure.ts';
import type { Self } from './hear.ts';

/** What people may do beyond talking. */
export interface Rights {
  /** The invocation, whose person can be asked whether they manage the place. Slack is asked when that is. */
  known(invocation: Invocation): Invocation;
}

/** Who manages the workspace manages the bot in it; in a direct conversation, everyone does. */
export function createRights(options: {
  client: webApi.WebClient;
  self: Self;
  log: Logger;
}): Rights {
  const { client, self, log } = options;
  let toldOfScope = false;

  /** Source: Slack docs, "users.info" and "User object". A channel may be shared with people of other workspaces. */
  async function isAdmin(id: string): Promise<boolean> {
    const { user } = await client.users.info({ user: id });
    if (!user || user.deleted) return false;
    const { team_id: home, enterprise_user: enterprise } = user;
    const isOurs = [home, ...(enterprise?.teams ?? [])].includes(self.teamId);
    return isOurs && [user.is_admin, user.is_owner, user.is_primary_owner].includes(true);
  }

  async function mayManage({ id }: Person): Promise<boolean> {
    try {
      return await isAdmin(id);
    } catch (error) {
      const { code } = readFailure(error);
      if (code !== 'missing_scope') {
        log.warn(
          { reason: code },
          'Slack did not say whether a person is an admin; taken for none',
        );
      } else if (!toldOfScope) {
        toldOfScope = true;
        log.warn(
          'the Slack app lacks the scope users:read, so nobody is taken for an admin of the workspace; add it under "OAuth & Permissions" and install the app again',
        );
      }
      return false;
    }
  }

  return {
    known({ person, ...invocation }) {
      const direct = invocation.place.channel.startsWith('D');
      const ask = direct ? async () => true : () => mayManage(person);
      return { ...invocation, person: { ...person, mayManage: ask } };
    },
  };
}
