import { createGatewayClient, type GatewayClient } from '../clients/gateway.ts';
import { createMonitoringClient, type MonitoringClient } from '../clients/monitoring.ts';
import type { Program } from './program.ts';

/** Clients of the two services, opened once the program listens: they may run in this process. */
export class ServiceClients {
  private readonly program: Program;
  private openedGateway: GatewayClient | undefined;
  private openedMonitoring: MonitoringClient | undefined;

  constructor(program: Program) {
    this.program = program;
  }

  gateway(): GatewayClient {
    const { settings, keys, url, log } = this.program;
    this.openedGateway ??= createGatewayClient({
      ...(settings.gateway ?? { baseUrl: url(), apiKey: keys.gateway.createTransient('bot') }),
      log,
    });
    return this.openedGateway;
  }

  /** The bot's client. */
  monitoring(): MonitoringClient {
    this.openedMonitoring ??= this.openMonitoring('bot');
    return this.openedMonitoring;
  }

  openMonitoring(name: string): MonitoringClient {
    const { settings, keys, url, log } = this.program;
    return createMonitoringClient({
      ...(settings.monitoring ?? { baseUrl: url(), apiKey: keys.monitoring.createTransient(name) }),
      log,
    });
  }

  async close(): Promise<void> {
    await this.openedMonitoring?.close();
    await this.openedGateway?.close();
  }
}
