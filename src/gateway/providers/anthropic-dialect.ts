import { readMessage } from './anthropic-answer.ts';
import { droppedFrom, encodeRequest, splitStops } from './anthropic-request.ts';
import { createEventReader } from './anthropic-stream.ts';
import type { Dialect } from './dialect.ts';

/** Anthropic's Messages API. Source: Claude API reference, "Create a Message". */
export const anthropicDialect: Dialect = {
  path: '/messages',
  encode: encodeRequest,
  ownStops: ({ stop }) => splitStops(stop).own,
  dropped: (request, _provider, model) => droppedFrom(request, model),
  decode: readMessage,
  openStream: createEventReader,
};
