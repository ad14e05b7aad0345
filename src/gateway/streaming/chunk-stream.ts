import type { ChatCompletionChunk } from '../../contracts/gateway.ts';
import { type AnswerStreamOptions, createEventEncoder } from './chunk-frames.ts';
import type { AnswerStream } from './frame-stream.ts';

/** Opens an answer that comes in chunks; resolves with its first one there, rejects as its iteration does. */
export async function openChunkStream(
  chunks: AsyncIterable<ChatCompletionChunk>,
  options: AnswerStreamOptions,
): Promise<AnswerStream> {
  const iterator = chunks[Symbol.asyncIterator]();
  const events = createEventEncoder(options);
  let next = await iterator.next();
  return {
    async pipe(sink) {
      let last: ChatCompletionChunk | undefined;
      try {
        for (; !next.done; next = await iterator.next()) {
          last = next.value;
          const event = events.event(last);
          if (event !== '' && !sink.write(event)) await sink.drained();
        }
      } finally {
        await iterator.return?.();
      }
      if (last && events.lacksUsage) sink.write(events.usageEvent(last));
    },
  };
}
