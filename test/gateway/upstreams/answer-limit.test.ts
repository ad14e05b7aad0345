import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import type { ProviderName } from '../../../src/gateway/providers/provider-table.ts';
import { NO_OLLAMA, startGateway, textModel } from '../../helpers/gateway/running-gateway.ts';
import { listen } from '../../helpers/http/listen.ts';

const MIB = 1024 * 1024;
const PART = Buffer.alloc(MIB, ' ');

/** A provider whose good answer has white space before it. */
async function startWordy(bytes: number) {
  let sent = 0;
  const answer = Buffer.from(
    JSON.stringify({
      ...{ id: 'x', object: 'chat.completion', created: 1_790_000_000, model: 'm' },
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  );
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' });
    const send = () => {
      const left = bytes - answer.length - sent;
      if (response.destroyed) return;
      if (left <= 0) return void response.end(answer);
      const part = PART.subarray(0, Math.min(left, PART.length));
      sent += part.length;
      response.write(part, send);
    };
    send();
  });
  return `http://127.0.0.1:${await listen(server)}`;
}

// Passed on as bytes, and read as objects.
test.each<ProviderName>(['openai', 'mistral'])(
  'a whole answer of %s may have 16 MiB, and is refused beyond',
  async (provider) => {
    for (const [bytes, status] of [
      [16 * MIB, 200],
      [17 * MIB, 502],
    ] as const) {
      const url = await startWordy(bytes);
      const gateway = await startGateway({
        catalog: { models: [textModel('one', provider)] },
        providers: { ...NO_OLLAMA, [provider]: { apiKey: 'key-0123456789', baseUrl: `${url}/v1` } },
      });
      const messages = [{ role: 'user', content: 'Hi' }];
      const answer = await gateway.post({ model: 'one', messages });
      expect(answer.status).toBe(status);
      if (status === 200) continue;
      expect(JSON.parse(answer.text).error.message).toMatch(/sent an answer that is too long/);
    }
  },
);
