import { onTestFinished } from 'vitest';
import { type ModelProviderOptions, startModelProvider } from '../../fakes/model-provider.ts';
import { startTestBot } from '../bot.ts';
import { NO_OLLAMA, startGateway } from '../gateway/running-gateway.ts';

/** A real bot that asks a real gateway, whose only provider is a fake at `OPENAI_BASE_URL`. */
export async function startBotOverGateway(
  options: ModelProviderOptions & { wrongKey?: string } = {},
) {
  const openai = await startModelProvider(options);
  onTestFinished(() => openai.close());
  const { gateway, url, key, client } = await startGateway({
    providers: {
      ...NO_OLLAMA,
      openai: { apiKey: options.wrongKey ?? openai.apiKey, baseUrl: `${openai.url}/v1` },
    },
  });
  const { provider: _, ...running } = await startTestBot({
    provider: { ...openai, url, apiKey: key },
  });
  return { ...running, openai, gateway, client };
}
