import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { z } from 'zod';
import { listen } from '../helpers/http/listen.ts';

/** A post that was accepted. */
export interface ReceivedPost<Body> {
  path: string;
  headers: IncomingHttpHeaders;
  body: Body;
  /** The body as the receiver got it. */
  text: string;
}

type Refusal = { status: number; headers?: Record<string, string> } | 'hang' | 'drop' | 'lose';

/** Any program that accepts JSON. */
export const AnyJson = z.record(z.string(), z.unknown());

/**
 * PagerDuty's Events API. Source: PagerDuty developer docs, "Send an Alert Event" (fields, lengths and values), "Events API v2
 * Overview" (sizes).
 */
const Key = z.string().length(32);
const Dedup = z.string().min(1).max(255);
export const PagerDutyEvent = z.discriminatedUnion('event_action', [
  z.strictObject({
    routing_key: Key,
    event_action: z.literal('trigger'),
    dedup_key: Dedup.optional(),
    client: z.string().optional(),
    links: z.array(z.strictObject({ href: z.url(), text: z.string().optional() })).optional(),
    payload: z.strictObject({
      summary: z.string().min(1).max(1024),
      source: z.string().min(1),
      severity: z.enum(['critical', 'error', 'warning', 'info']),
      timestamp: z.iso.datetime().optional(),
      custom_details: AnyJson.optional(),
    }),
  }),
  z.strictObject({
    routing_key: Key,
    event_action: z.enum(['acknowledge', 'resolve']),
    dedup_key: Dedup,
  }),
]);

/** ntfy. Source: ntfy docs, "Publish as JSON"; server/server.go, `topicRegex` and `DefaultMessageSizeLimit`. */
export const NtfyMessage = z.strictObject({
  topic: z.string().regex(/^[-_A-Za-z0-9]{1,64}$/),
  title: z.string().optional(),
  message: z.string().refine((text) => Buffer.byteLength(text) <= 4096),
  priority: z.int().min(1).max(5).optional(),
  tags: z.array(z.string()).optional(),
  click: z.url().optional(),
  sequence_id: z
    .string()
    .regex(/^[-_A-Za-z0-9]{1,64}$/)
    .optional(),
});

const TextBlock = z.strictObject({
  type: z.literal('TextBlock'),
  text: z.string().min(1),
  wrap: z.boolean().optional(),
  weight: z.enum(['Default', 'Lighter', 'Bolder']).optional(),
  size: z.enum(['Default', 'Small', 'Medium', 'Large', 'ExtraLarge']).optional(),
  color: z.enum(['Default', 'Dark', 'Light', 'Accent', 'Good', 'Warning', 'Attention']).optional(),
  spacing: z
    .enum(['None', 'Small', 'Default', 'Medium', 'Large', 'ExtraLarge', 'Padding'])
    .optional(),
});

/**
 * Workflows of Teams. Source: Microsoft Learn, Teams connector, "Request body schema"; adaptivecards.io, schema of version 1.2:
 * elements and their values.
 */
export const TeamsMessage = z.strictObject({
  type: z.literal('message'),
  attachments: z
    .array(
      z.strictObject({
        contentType: z.literal('application/vnd.microsoft.card.adaptive'),
        contentUrl: z.null(),
        content: z.strictObject({
          $schema: z.string(),
          type: z.literal('AdaptiveCard'),
          version: z.literal('1.2'),
          body: z.array(TextBlock).min(1),
          actions: z
            .array(
              z.strictObject({
                type: z.literal('Action.OpenUrl'),
                title: z.string(),
                url: z.url(),
              }),
            )
            .optional(),
        }),
      }),
    )
    .length(1),
});

/** Bytes of a body. PagerDuty: 512 KB; ntfy: twice its message; Teams: about 28 KB. */
const MAX_BYTES = new Map<unknown, number>([
  [PagerDutyEvent, 512 * 1024],
  [NtfyMessage, 2 * 4096],
  [TeamsMessage, 28 * 1024],
]);

/** A receiver on loopback that answers 400 to every body that its documentation doesn't allow. */
export async function startWebhookReceiver<Body>(schema: z.ZodType<Body>) {
  const posts: Array<ReceivedPost<Body>> = [];
  const refused: string[] = [];
  let refusal: Refusal | undefined;
  let requests = 0;
  const server = createServer((request, response) => {
    void answer(request).then(({ status, headers = {} }) => {
      if (status === 0) return;
      response.writeHead(status, headers).end('{}');
    });
  });

  async function answer(request: IncomingMessage): Promise<Exclude<Refusal, string>> {
    requests += 1;
    const now = refusal;
    if (now === 'drop') request.socket.destroy();
    if (now === 'drop' || now === 'hang') return { status: 0 };
    if (typeof now === 'object') return now;
    if (request.method !== 'POST') return { status: 405 };
    const text = await textOf(request);
    const checked = schema.safeParse(JSON.parse(text));
    if (!checked.success || Buffer.byteLength(text) > (MAX_BYTES.get(schema) ?? 1_000_000)) {
      refused.push(checked.error?.message ?? 'too large');
      return { status: 400 };
    }
    posts.push({ path: request.url ?? '', headers: request.headers, body: checked.data, text });
    if (now !== 'lose') return { status: 202 };
    request.socket.destroy();
    return { status: 0 };
  }

  const url = `http://127.0.0.1:${await listen(server)}`;
  return {
    url,
    posts,
    /** Reasons of 400s. */
    refused,
    requests: () => requests,
    /** Answers so until it is called again; `lose` accepts a post and cuts the answer. */
    refuseWith(next: Refusal | undefined) {
      refusal = next;
    },
  };
}
