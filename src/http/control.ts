import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fastify } from 'fastify';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Service } from '../contracts/api-key.ts';
import { answerError, validationError } from './error-answers.ts';
import { notFound } from './errors.ts';
import type { Keys } from './keys.ts';

/** The Unix socket in the data folder through which the command line reaches the running program. */
export const controlSocket = (folder: string) => join(folder, 'control.sock');

const CreateKey = z.strictObject({ name: z.string().trim().min(1).max(100) });

/**
 * Opens the control socket: keys can be listed, created and revoked by whoever may open the data folder (mode 0700),
 * which is the operator; no secret is needed for it, and none is stored.
 */
export async function openControl(options: {
  folder: string;
  keys: Record<Service, Keys>;
  log: Logger;
}): Promise<{ close(): Promise<void> }> {
  const { folder, keys, log } = options;
  const server = fastify();
  server.setErrorHandler(answerError);
  const keysOf = (params: unknown): Keys => {
    const { service } = params as { service: string };
    if (service === 'gateway' || service === 'monitoring') return keys[service];
    throw notFound(`There is no service '${service}'.`);
  };
  server.get('/keys/:service', (request) => keysOf(request.params).list());
  server.post('/keys/:service', (request) => {
    const body = CreateKey.safeParse(request.body);
    if (!body.success) throw validationError(body.error.issues, request.body);
    return keysOf(request.params).create(body.data.name);
  });
  server.delete('/keys/:service/:id', async (request) => {
    const { id } = request.params as { id: string };
    if (!(await keysOf(request.params).revoke(id))) throw notFound(`There is no key ${id}.`);
    return { revoked: id };
  });
  const path = controlSocket(folder);
  // A killed process leaves its socket behind; the store's lock says that nobody else uses this folder.
  await rm(path, { force: true });
  try {
    await server.listen({ path });
  } catch (error) {
    log.warn(
      { err: error },
      'keys cannot be managed while this runs: the control socket could not be opened (its path may be too long)',
    );
  }
  return {
    async close() {
      await server.close();
      await rm(path, { force: true });
    },
  };
}
