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

/** A monitoring service whose monitors' statuses the test sets; `alertChannel` hears of each, such as `slack:C0123`. */
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
