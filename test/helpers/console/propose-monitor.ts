import type { ModelProvider } from '../../fakes/model-provider.ts';

/** From now on the model proposes to watch an address, and then says so. */
export function proposeMonitor(provider: ModelProvider, target = 'https://example.com') {
  provider.answerWith((body) =>
    body.messages.at(-1).role === 'tool'
      ? 'It waits for you.'
      : { calls: [{ name: 'create_monitor', arguments: JSON.stringify({ target }) }] },
  );
}
