import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { AtEnd } from '../../helpers/temporary-folder.ts';
import { createSocketDeliveries } from './deliveries.ts';
import { type SlackFake, startSlack } from './slack.ts';

/** A person's choice on Slack's installation page. */
export interface Consent {
  team: string;
  /** For the whole organization in place of one workspace, which may be named all the same. */
  enterprise?: 'unnamed' | 'named';
  /** The app was switched to tokens that end. */
  rotation?: boolean;
}

/** One app in several workspaces of Slack's: each has its own token, people and channels. */
export interface SlackTeams {
  apiUrl: string;
  appToken: string;
  signingSecret: string;
  clientId: string;
  clientSecret: string;
  /** The app's configured redirect URL. */
  redirectUrl: string;
  /** A workspace, whether the app is installed in it or not. */
  team(id: string): SlackFake;
  /** Requests of `oauth.v2.access`, without the secret. */
  exchanges: { code: string | null; redirectUri: string | null }[];
  /** The next exchange of a code fails so. */
  failExchange(error: string): void;
  /** Consents on the installation page and returns the redirect. */
  consent(authorizeUrl: string, consent: Consent): string;
  /** Takes the token away and tells the app, as Slack does when a workspace removes it. */
  uninstall(team: string): Promise<void>;
}

/** Starts the workspaces of these ids; they end with the test, or as `atEnd` says. */
export async function startSlackTeams(
  ids: readonly string[],
  atEnd: AtEnd = onTestFinished,
): Promise<SlackTeams> {
  const deliveries = createSocketDeliveries();
  const teams = new Map<string, SlackFake>();
  for (const teamId of ids) {
    // Equal in all workspaces, because Slack doesn't promise that they differ.
    const botUserId = 'U00ASKWATCH';
    teams.set(teamId, await startSlack(atEnd, { teamId, botUserId, deliveries }));
  }
  const [first] = teams.values();
  if (!first) throw new Error('The fake needs a workspace.');
  const codes = new Map<string, Consent>();
  const problems: string[] = [];
  const credentials = { clientId: '111.222', clientSecret: 'fake-client-secret-0001' };

  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  atEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const method = (request.url ?? '').replace('/api/', '');
    if (method === 'oauth.v2.access') {
      const answer = exchange(new URLSearchParams(body));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer));
      return;
    }
    const { authorization = '', 'content-type': type = '' } = request.headers;
    const token = authorization.replace(/^Bearer /, '');
    const isApp = token === first?.appToken;
    const owner = isApp ? first : [...teams.values()].find((team) => team.botToken === token);
    // Any workspace refuses an unknown token.
    const answer = await fetch(`${(owner ?? first)?.apiUrl}${method}`, {
      method: 'POST',
      headers: { authorization, 'content-type': type },
      body,
    });
    const kept = ['content-type', 'retry-after', 'x-oauth-scopes'].flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    response.writeHead(answer.status, Object.fromEntries(kept)).end(await answer.text());
  }

  /** Source: Slack docs, "oauth.v2.access". */
  function exchange(args: URLSearchParams): object {
    const code = args.get('code');
    fake.exchanges.push({ code, redirectUri: args.get('redirect_uri') });
    const problem = problems.shift();
    if (problem) return { ok: false, error: problem };
    if (args.get('client_id') !== fake.clientId) return { ok: false, error: 'invalid_client_id' };
    if (args.get('client_secret') !== fake.clientSecret)
      return { ok: false, error: 'bad_client_secret' };
    const consent = codes.get(code ?? '');
    if (!consent) return { ok: false, error: 'invalid_code' };
    codes.delete(code ?? '');
    return grantOf(consent);
  }

  function grantOf({ team: id, enterprise, rotation = false }: Consent): object {
    const team = fake.team(id);
    return {
      ok: true,
      app_id: 'A00FAKE',
      authed_user: { id: 'U00ADA' },
      scope: [...team.scopes].join(','),
      token_type: 'bot',
      access_token: team.grant(),
      bot_user_id: team.botUserId,
      team: enterprise === 'unnamed' ? null : { id, name: `<b>${id}</b> & "Co"` },
      enterprise: enterprise ? { id: 'E00FAKE', name: 'Org' } : null,
      is_enterprise_install: enterprise !== undefined,
      ...(rotation && { refresh_token: 'xoxe-1-fake-refresh', expires_in: 43_200 }),
    };
  }

  const fake: SlackTeams = {
    apiUrl: `${url}/api/`,
    appToken: first.appToken,
    signingSecret: first.signingSecret,
    ...credentials,
    redirectUrl: '',
    exchanges: [],
    team(id) {
      const team = teams.get(id);
      if (!team) throw new Error(`The fake has no workspace ${id}.`);
      return team;
    },
    failExchange: (error) => void problems.push(error),
    consent(authorizeUrl, consent) {
      const { origin, pathname, searchParams } = new URL(authorizeUrl);
      const known = searchParams.get('client_id') === fake.clientId;
      if (origin !== url || pathname !== '/oauth/v2/authorize' || !known)
        throw new Error(`This is no page of Slack: ${authorizeUrl}`);
      if (!searchParams.get('scope')) throw new Error('The app asks for no scopes.');
      const code = randomUUID();
      codes.set(code, consent);
      const back = new URL(searchParams.get('redirect_uri') ?? fake.redirectUrl);
      back.search = new URLSearchParams({
        code,
        state: searchParams.get('state') ?? '',
      }).toString();
      return back.href;
    },
    async uninstall(id) {
      const team = fake.team(id);
      team.revoke('bot', 'account_inactive');
      const tokens = { oauth: [], bot: [team.botUserId] };
      await team.event({ type: 'tokens_revoked', tokens });
      await team.event({ type: 'app_uninstalled' });
    },
  };
  return fake;
}
