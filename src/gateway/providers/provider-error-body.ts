import { z } from 'zod';

const ErrorFields = z.object({
  message: z.string(),
  type: z.string().nullish().catch(undefined),
  param: z.string().nullish().catch(undefined),
  code: z.string().nullish().catch(undefined),
});
type ErrorFields = z.input<typeof ErrorFields>;

/** A list of complaints, each about one place in the body. Source: FastAPI docs, "Handling errors". */
const Complaints = z.array(
  z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() }),
);

const asSentence = (complaints: z.infer<typeof Complaints>) =>
  complaints
    .map(({ loc, msg }) => `${loc.filter((at) => at !== 'body').join('.')}: ${msg}`)
    .join('; ');

/**
 * Some providers send the convention's body, some a list with one of it in, some the inner object alone. xAI's error is
 * its sentence, and Mistral's sentence is a list of complaints.
 */
const ErrorBody = z.union([
  z.object({ error: ErrorFields }).transform(({ error }) => error),
  z.tuple([z.object({ error: ErrorFields })]).transform(([{ error }]) => error),
  ErrorFields,
  z.object({ error: z.string() }).transform(({ error }): ErrorFields => ({ message: error })),
  z
    .union([
      z.object({ detail: Complaints }),
      z.object({ message: z.object({ detail: Complaints }) }),
    ])
    .transform((body): ErrorFields => {
      return { message: asSentence('detail' in body ? body.detail : body.message.detail) };
    }),
]);

/** What a provider says in its refusal, in whichever of the shapes; `undefined` when nothing in it can be read. */
export function readErrorBody(body: string): z.infer<typeof ErrorBody> | undefined {
  try {
    return ErrorBody.safeParse(JSON.parse(body)).data;
  } catch {
    // Not JSON: the status says that the request was refused, and nobody says why.
    return undefined;
  }
}
