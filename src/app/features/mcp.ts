import { addMcp, addMcpElsewhere } from '../../mcp/mcp.ts';
import type { ProgramFeature } from '../program.ts';
import { isLoopback } from '../settings.ts';

/** The bot's tools for other assistants, at `/mcp`. They are about the monitors of this process's own service. */
export const mcp: ProgramFeature = {
  name: 'mcp',
  open({ settings, kit, keys, url, bot, runs, version, log }) {
    const isElsewhere = settings.monitoring !== undefined;
    if (isElsewhere || !runs('monitoring')) {
      addMcpElsewhere({ kit, isElsewhere });
      return {};
    }
    const { close } = addMcp({
      kit,
      keys: keys.monitoring,
      serviceUrl: url,
      writes: settings.mcpWrites,
      incidents: runs('bot') ? () => bot()?.incidents : undefined,
      publicUrl: settings.publicUrl,
      isOpen: !isLoopback(settings.host),
      version,
      log,
    });
    return {
      account: { hasMcp: true },
      isForBot: (path) => path === '/mcp' && runs('bot'),
      close,
    };
  },
};
