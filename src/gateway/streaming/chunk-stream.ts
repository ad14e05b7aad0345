import type { ChatCompletionChunk } from '../../contracts/gateway.ts';
import { createChunkFrames, type FramesOptions } from './chunk-frames.ts';
import type { FrameStream } from './frame-stream.ts';

/** Opens an answer that comes in chunks; resolves with its first one there, rejects as its iteration does. */
export async function openChunkStream(
  chunks: AsyncIterable<ChatCompletionChunk>,
  options: FramesOptions,
): Promise<FrameStream> {
  const iterator = chunks[Symbol.asyncIterator]();
  const frames = createChunkFrames(options);
  let next = await iterator.next();
  return {
    async pipe(sink) {
      let last: ChatCompletionChunk | undefined;
      try {
        for (; !next.done; next = await iterator.next()) {
          last = next.value;
          const frame = frames.frame(last);
          if (frame !== '' && !sink.write(frame)) await sink.drained();
        }
      } finally {
        await iterator.return?.();
      }
      if (last && frames.owesUsage) sink.write(frames.usageLike(last));
    },
  };
}
