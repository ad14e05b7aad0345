export const UNREACHED = "Can't reach Askwatch. Is it still running?";

/** Pauses before a failed request is repeated; its id makes that harmless. */
const REPEAT_AFTER_MS = [500, 1_500, 4_000];

export const sendJson = (method: 'POST' | 'PATCH', path: string, body: object) =>
  fetch(path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/**
 * Sends JSON until the server answers. A 502, and a 503 with `Retry-After`, count as an answer only after the last pause.
 * Throws an `Error` with a sentence to show.
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

export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Reads the sentence of a refusal. `advice` follows if the server sent none. */
export async function errorSentence(response: Response, advice = ''): Promise<string> {
  try {
    const body = (await response.json()) as { error?: { message?: string } };
    if (body.error?.message) return body.error.message;
  } catch {
    // The body isn't Askwatch's error, so only the status is known.
  }
  return `Askwatch answered with status ${response.status}.${advice}`;
}
