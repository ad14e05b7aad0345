import type { Feature } from '../commands/feature.ts';
import { acceptTool, toolsCommand } from './commands.ts';
import type { OtherServer } from './known-server.ts';
import { createOtherTools } from './other-tools.ts';

/** Tools from other people's MCP servers, for answers. The program hands in the servers. */
export const toolServers: Feature<() => readonly OtherServer[]> = {
  name: 'tool-servers',
  commands: [toolsCommand],
  after: 'askwatch usage',
  actions: [acceptTool],
  openShared: () => () => [],
  open({ store, log }, createServers) {
    const service = createOtherTools({ servers: createServers(), store, log });
    return {
      service,
      start: service.start,
      close: service.stop,
      toolsIn: service.offerIn,
      writingTool: service.writingTool,
    };
  },
};
