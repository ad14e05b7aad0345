import type { ModelProvider } from '../../fakes/model-provider.ts';

/** From now on the model proposes to watch an address, and then says so. */
export function proposeMonitor(provider: ModelProvider, more: { runbook?: string } = {}) {
  const input = { target: 'https://example.com', ...more };
  provider.answerWith((body) =>
    body.messages.at(-1).role === 'tool'
      ? 'It waits for you.'
      : { calls: [{ name: 'create_monitor', arguments: JSON.stringify(input) }] },
  );
}
