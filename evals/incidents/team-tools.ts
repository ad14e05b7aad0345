import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';

/** A server of other people's tools on a real port. */
export interface TeamTools {
  url: string;
  /** Returns the result of a tool. Replaced for each case. */
  call(name: string, input: Record<string, unknown>): string;
  /** Names of the tools that were called, oldest first. */
  calls: string[];
  close(): Promise<void>;
}

/** Starts a server with the official library. The one in `test/fakes` works only in tests. */
export async function startTeamTools(tools: readonly object[]): Promise<TeamTools> {
  const handler = createMcpHandler(() => {
    const protocol = new Server(
      { name: 'team', version: '1.0.0' },
      { capabilities: { tools: {} } },
    );
    protocol.setRequestHandler('tools/list', () => ({ tools }) as never);
    protocol.setRequestHandler('tools/call', ({ params: { name, arguments: input = {} } }) => {
      team.calls.push(name);
      return { content: [{ type: 'text', text: team.call(name, input) }] };
    });
    return protocol;
  });
  const http = createServer(async (request, response) => {
    const { method = 'GET', headers } = request;
    const body = method === 'POST' ? await buffer(request) : null;
    const named = Object.entries(headers).map(
      ([name, value]) => [name, `${value}`] as [string, string],
    );
    const answer = await handler.fetch(new Request(team.url, { method, headers: named, body }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const team: TeamTools = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    call: () => '',
    calls: [],
    async close() {
      await handler.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return team;
}
