/** What to show when nobody answers. */
export const UNREACHED = "Can't reach Askwatch. Is it still running?";

/** Pauses before a request that did not get through, or came to nothing, is repeated; its id makes the repeat harmless. */
const REPEAT_AFTER_MS = [500, 1_500, 4_000];

/** Sends something as JSON, once. Rejects when nobody answers. */
export const sendJson = (method: 'POST' | 'PATCH', path: string, body: object) =>
  fetch(path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/**
 * Sends JSON until there is an answer, whichever it is; a 502, and a 503 that says that it can be sent again, count only after
 * the last pause. Throws an `Error` with a sentence to show.
 */
export async function postUntilAnswered(path: string, body: object): Promise<Response> {
  let response: Response | undefined;
  for (const pauseMs of [...REPEAT_AFTER_MS, undefined]) {
    response = await sendJson('POST', path, body).catch(() => undefined);
    const isLater =
      response?.status === 502 || (response?.status === 503 && response.headers.has('retry-after'));
    if ((response && !isLater) || pauseMs === undefined) break;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  if (response) return response;
  throw new Error(UNREACHED);
}

/** What to show of something that a request has thrown. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What an answer that is a refusal says; `advice` follows where it says nothing itself. */
export async function errorSentence(response: Response, advice = ''): Promise<string> {
  try {
    const body = (await response.json()) as { error?: { message?: string } };
    if (body.error?.message) return body.error.message;
  } catch {
    // Not the server's own error body; the status is all there is to tell.
  }
  return `Askwatch answered with status ${response.status}.${advice}`;
}
