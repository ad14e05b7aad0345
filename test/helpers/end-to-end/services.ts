import { onTestFinished } from 'vitest';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import type { AtEnd } from '../temporary-folder.ts';

/** A model behind the gateway's contract. */
export async function startModel(atEnd: AtEnd = onTestFinished) {
  const model = await startModelProvider();
  atEnd(() => model.close());
  return { model, env: { GATEWAY_BASE_URL: model.url, GATEWAY_API_KEY: model.apiKey } };
}

/** A monitoring service whose statuses the test sets; `alertChannel`, such as `slack:C0123`, receives all alerts. */
export async function startWatched(alertChannel: string, atEnd: AtEnd = onTestFinished) {
  const service = await startMonitoringService({ limit: false });
  atEnd(() => service.close());
  const env = {
    MONITORING_BASE_URL: service.url,
    MONITORING_API_KEY: service.apiKey,
    ALERT_CHANNELS: alertChannel,
    ALERT_POLL_SECONDS: '1',
  };
  return { service, env };
}

/** Starts the services that a bot needs: models behind its gateway, and monitors. */
export async function startForBot() {
  const provider = await startModelProvider({ models: ['gpt-5.6-luna'] });
  const service = await startMonitoringService({ limit: false });
  onTestFinished(async () => {
    await service.close();
    await provider.close();
  });
  const env = {
    ASKWATCH_ROLES: 'bot,gateway,console',
    MONITORING_BASE_URL: service.url,
    MONITORING_API_KEY: service.apiKey,
    OPENAI_API_KEY: provider.apiKey,
    OPENAI_BASE_URL: `${provider.url}/v1`,
    ALERT_POLL_SECONDS: '1',
  };
  return { provider, service, env };
}
