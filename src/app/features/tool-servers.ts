import type { OtherServer } from '../../bot/tool-servers/known-server.ts';
import { createToolServer } from '../../clients/tool-server.ts';
import type { ProgramFeature } from '../program.ts';

/** The MCP servers of MCP_CONFIG, whose tools answers may use. Connections are made when they are first used. */
export const toolServers: ProgramFeature = {
  name: 'tool-servers',
  open({ toolServers: configured, version, log }) {
    // A bot closes its clients for good when it ends.
    const shared = (): OtherServer[] =>
      configured.map((server) => ({
        ...server,
        client: createToolServer(server, { version, log }),
      }));
    return { shared };
  },
};
