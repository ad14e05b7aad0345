import { FileError, GONE } from '../shared/shared-file.ts';

const MAX_REDIRECTS = 3;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Streams a file from an address. The reader may stop at any time. Each hop is checked with `isAllowed` before it is requested,
 * and only the first one gets `authorization`, because a redirect may lead anywhere. Throws `FileError`, or the signal's reason.
 */
export async function* download(
  address: string,
  options: {
    isAllowed(url: URL): boolean;
    authorization?: string;
    /** Throws a `FileError` for a response that isn't the file, such as a sign-in page. */
    check?(answer: Response, url: URL): void;
    signal: AbortSignal;
  },
): AsyncGenerator<Uint8Array, void, undefined> {
  const { isAllowed, authorization, check, signal } = options;
  let url = parsed(address);
  let headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  for (let hops = 0; ; hops += 1) {
    if (!url || !isAllowed(url)) {
      throw new FileError('Askwatch does not fetch files from its address. Send the file itself.');
    }
    const answer = await ask(url, headers, signal);
    try {
      check?.(answer, url);
      const to = REDIRECTS.has(answer.status) ? answer.headers.get('location') : null;
      if (to === null) {
        requireGood(answer);
        yield* read(answer, signal);
        return;
      }
      if (hops === MAX_REDIRECTS)
        throw new FileError('it redirects too many times. Send it again.');
      url = parsed(to, url);
      headers = {};
    } finally {
      // Ends a download that was not read to its end.
      await answer.body?.cancel().catch(() => {});
    }
  }
}

/** `undefined` for an address with a user name or password: they would be sent along. */
function parsed(address: string, base?: URL): URL | undefined {
  if (!URL.canParse(address, base?.href)) return undefined;
  const url = new URL(address, base);
  return url.username === '' && url.password === '' ? url : undefined;
}

async function ask(url: URL, headers: Record<string, string>, signal: AbortSignal) {
  try {
    return await fetch(url, { headers, redirect: 'manual', signal });
  } catch (error) {
    signal.throwIfAborted();
    throw broken(error);
  }
}

function requireGood({ status }: Response) {
  if (status >= 200 && status < 300) return;
  if (status === 404 || status === 410) throw new FileError(GONE, { isGone: true });
  if (status === 401 || status === 403) {
    throw new FileError('Askwatch has no access to it. Send it again, here.', { isGone: true });
  }
  throw new FileError(`it could not be fetched (status ${status}). Ask again in a moment.`);
}

async function* read({ body }: Response, signal: AbortSignal) {
  if (!body) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof FileError ? error : broken(error);
  } finally {
    await reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}

const broken = (cause: unknown) =>
  new FileError('the connection was lost. Ask again in a moment.', { cause });
