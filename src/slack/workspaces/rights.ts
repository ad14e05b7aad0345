import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import type { Person } from '../../bot/shared/place.ts';
import type { BotIdentity } from '../api/bot-identity.ts';
import { readFailure } from '../api/call-failure.ts';

/** A person in any channel, with their rights. Slack is asked once for all channels. */
type PersonInChannels = (person: Person) => (channel: string) => Person;

/** Members of a user group are remembered for this long. */
const KEEP_MS = 60_000;

/**
 * Workspace admins manage the bot, and each person manages their direct conversation. A group conversation counts as a channel,
 * because Slack needs further scopes to tell them apart.
 */
export function createRights(options: {
  client: webApi.WebClient;
  self: BotIdentity;
  log: Logger;
}): PersonInChannels {
  const { client, self, log } = options;
  const warned = new Set<string>();
  const members = new Map<string, { ids: Promise<ReadonlySet<string>>; atMs: number }>();

  /** Source: Slack docs, "users.info" and "User object". People of other workspaces may share a channel. */
  async function isAdmin(id: string): Promise<boolean> {
    const { user } = await client.users.info({ user: id });
    if (!user || user.deleted) return false;
    const { team_id: home, enterprise_user: enterprise } = user;
    const isMember = [home, ...(enterprise?.teams ?? [])].includes(self.teamId);
    return isMember && [user.is_admin, user.is_owner, user.is_primary_owner].includes(true);
  }

  /** Source: Slack docs, "usergroups.users.list". Requested once a minute for each group. */
  async function isInGroup(id: string, group: string): Promise<boolean> {
    if (!group.startsWith('S')) return false;
    const known = members.get(group);
    if (known && performance.now() - known.atMs < KEEP_MS) return (await known.ids).has(id);
    const ids = client.usergroups.users
      .list({ usergroup: group })
      .then(({ users = [] }) => new Set(users));
    members.set(group, { ids, atMs: performance.now() });
    ids.catch(() => members.delete(group));
    return (await ids).has(id);
  }

  /** False if Slack doesn't say. */
  async function orFalse(
    asked: Promise<boolean>,
    { scope, what }: { scope: string; what: string },
  ) {
    try {
      return await asked;
    } catch (error) {
      const { code } = readFailure(error);
      if (code !== 'missing_scope') {
        log.warn({ reason: code }, `could not ask Slack whether a person is ${what}; assuming not`);
      } else if (!warned.has(scope)) {
        warned.add(scope);
        log.warn(
          `the Slack app lacks the scope ${scope}, so nobody counts as ${what}; add it under "OAuth & Permissions" and reinstall the app`,
        );
      }
      return false;
    }
  }

  return (person) => {
    const { id } = person;
    let manages: Promise<boolean> | undefined;
    function managesAll() {
      const admin = { scope: 'users:read', what: 'an admin of the workspace' };
      manages ??= orFalse(isAdmin(id), admin);
      return manages;
    }
    const member = { scope: 'usergroups:read', what: 'a member of a user group' };
    return (channel) => ({
      ...person,
      mayManage: async (over) =>
        (over === 'place' && channel.startsWith('D')) || (await managesAll()),
      // The token of this workspace reaches no other.
      channelOf: async (other) => ({ channel: other, mayManage: await managesAll() }),
      isIn: (group) => orFalse(isInGroup(id, group), member),
      community: { name: 'this workspace' },
    });
  };
}
