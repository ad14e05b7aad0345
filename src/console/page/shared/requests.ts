/** Pauses before a request that did not get through is repeated; its id makes the repeat harmless. */
const REPEAT_AFTER_MS = [500, 1_500, 4_000];

/** Sends JSON until there is an answer, whichever it is. Throws an `Error` with a sentence to show. */
export async function postUntilAnswered(path: string, body: string): Promise<Response> {
  for (const pauseMs of [...REPEAT_AFTER_MS, undefined]) {
    try {
      return await fetch(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
    } catch {
      if (pauseMs === undefined) break;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  throw new Error('Askwatch cannot be reached. Is it still running?');
}

/** What to show of something that a request has thrown. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What an answer that is a refusal says. */
export async function errorSentence(response: Response): Promise<string> {
  try {
    const body = (await response.json()) as { error?: { message?: string } };
    if (body.error?.message) return body.error.message;
  } catch {
    // Not the server's own error body; the status is all there is to tell.
  }
  return `Askwatch answered with status ${response.status}.`;
}
