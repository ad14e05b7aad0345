import { chmod, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { fastify } from 'fastify';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { KeyedService } from '../contracts/api-key.ts';
import { beginTurn } from '../contracts/event-loop.ts';
import { plainWords } from '../contracts/plain-words.ts';
import { controlSocket } from './control-socket.ts';
import { answerError, validationError } from './error-answers.ts';
import { notFound } from './errors.ts';
import { ChangeKey, CreateKey } from './key-bodies.ts';
import type { Keys } from './keys.ts';

const UsageQuery = z.strictObject({
  keyId: z.string().optional(),
  fromDay: z.iso.date().optional(),
  toDay: z.iso.date().optional(),
});

const FeedbackQuery = z.strictObject({
  sinceMs: z.coerce.number().optional(),
  down: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional(),
});

const FileAnswer = z.strictObject({ answer: z.string().max(100) });

/**
 * The command line manages keys and reads usage, feedback and monitors here. It needs no secret: only the operator can open the
 * data folder (mode 0700).
 */
export async function openControl(options: {
  folder: string;
  keys: Record<KeyedService, Keys>;
  usage?: (query: z.infer<typeof UsageQuery>) => Promise<unknown>;
  feedback?: (query: z.infer<typeof FeedbackQuery>) => AsyncIterable<string>;
  /** All monitors with their secrets, and the state of the monitors file. */
  monitors?: {
    standing(): Iterable<unknown>;
    state(): object | undefined;
    answer(answer: string): Promise<void>;
  };
  /** Empty until the server listens. */
  listeningUrl: () => string;
  log: Logger;
}): Promise<{ close(): Promise<void> }> {
  const { folder, keys, usage, feedback, monitors, listeningUrl, log } = options;
  const server = fastify();
  server.setErrorHandler(answerError);
  const keysOf = (params: unknown): Keys => {
    const { service } = params as { service: string };
    if (service === 'gateway' || service === 'monitoring') return keys[service];
    throw notFound(`Unknown service '${service}'.`);
  };
  server.get('/address', () => ({ url: listeningUrl() }));
  server.get('/keys/:service', (request) => keysOf(request.params).list());
  server.post('/keys/:service', (request) => {
    const { name, limits, readOnly } = checked(CreateKey, request.body);
    return keysOf(request.params).create(name, limits, { readOnly });
  });
  server.patch('/keys/:service/:id', async (request) => {
    const { id } = request.params as { id: string };
    const { limits } = checked(ChangeKey, request.body);
    const info = await keysOf(request.params).limit(id, limits);
    if (!info) throw notFound(`No key has the ID ${id}.`);
    return info;
  });
  server.delete('/keys/:service/:id', async (request) => {
    const { id } = request.params as { id: string };
    if (!(await keysOf(request.params).revoke(id))) throw notFound(`No key has the ID ${id}.`);
    return { revoked: id };
  });
  server.get('/usage', async (request) => {
    const query = checked(UsageQuery, request.query);
    if (!usage) throw notFound('This Askwatch does not count usage.');
    return await usage(query);
  });
  server.get('/feedback', (request, reply) => {
    const query = checked(FeedbackQuery, request.query);
    if (!feedback) throw notFound('This Askwatch does not keep feedback.');
    return reply.type('application/jsonl').send(Readable.from(feedback(query)));
  });
  const monitorsHere = () => {
    if (monitors) return monitors;
    throw notFound('This Askwatch does not run a monitoring service.');
  };
  server.get('/monitors', (_request, reply) =>
    reply.type('application/jsonl').send(Readable.from(jsonLines(monitorsHere().standing()))),
  );
  server.get('/monitors/file', () => monitorsHere().state() ?? {});
  server.post('/monitors/file/answer', async (request) => {
    await monitorsHere().answer(checked(FileAnswer, request.body).answer);
    return {};
  });
  const path = controlSocket(folder);
  // A killed process leaves its socket. The store's lock guarantees that no other process uses this folder.
  await rm(path, { force: true });
  try {
    await server.listen({ path });
    // Connecting needs write permission, so this mode keeps other users out, whatever the umask is.
    await chmod(path, 0o600);
  } catch (error) {
    log.warn(
      { err: error },
      'could not open the control socket (its path may be too long); keys cannot be managed while this runs',
    );
  }
  return {
    async close() {
      await server.close();
      await rm(path, { force: true });
    },
  };
}

async function* jsonLines(values: Iterable<unknown>) {
  const turn = beginTurn();
  for (const value of values) {
    yield `${JSON.stringify(value)}\n`;
    if (turn.isOver()) await turn.next();
  }
}

function checked<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input, { error: plainWords });
  if (!result.success) throw validationError(result.error.issues, input);
  return result.data;
}
