import { z } from 'zod';
import { oneLine } from '../contracts/one-line.ts';
import type { RawToolResult } from './tool-server-connection.ts';

/** Bytes of one answer. */
const MAX_RESULT_BYTES = 20_000;
const MAX_DESCRIPTION = 1_024;
const MAX_SCHEMA_BYTES = 16_384;
const MAX_SCHEMA_DEPTH = 20;

/** Address of a server of other people's tools, and the headers of every message to it. */
export interface ToolServerAddress {
  name: string;
  url: string;
  /** Values may be secrets, so none of them appears in anything that leaves this client. */
  headers: Readonly<Record<string, string>>;
}

/** A tool as it may be passed to a model. The server wrote it, so it is hostile. */
export interface ListedTool {
  name: string;
  /** At most 1,024 characters. */
  description: string;
  /** JSON schema of an object, at most 16 KB. */
  inputSchema: Record<string, unknown>;
  isReadOnly: boolean;
  isDestructive: boolean;
}

/** A tool of a list, or a sentence that says why it can't be used. */
export type ListEntry = ListedTool | { name: string; problem: string };

/** Result of a call. The server wrote it, so it is hostile. */
export interface ToolAnswer {
  /** At most 20 KB; JSON if the server returned its result that way. */
  text: string;
  /** Bytes of the whole result, if that is longer. */
  cutFromBytes?: number;
  /** The tool itself reports that it failed. */
  isError: boolean;
}

const REDACTED = '[secret]';

/** Returns everything secret in an address: it goes to the server with every message and must not appear elsewhere. */
export function secretsOf({ url, headers }: Pick<ToolServerAddress, 'url' | 'headers'>): string[] {
  return [
    ...Object.values(headers).flatMap((value) => [value, value.replace(/^\w+ +/, '')]),
    ...new URL(url).searchParams.values(),
  ];
}

/** Creates a function that removes secrets from a text, because some servers repeat them. */
export function createCleaning(secrets: readonly string[]) {
  const written = secrets
    .flatMap((value) => [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)])
    .filter((value) => value.length >= 6);
  const inOrder = [...new Set(written)].sort((a, b) => b.length - a.length);
  return (text: string) => inOrder.reduce((all, one) => all.replaceAll(one, REDACTED), text);
}

export type CleanText = ReturnType<typeof createCleaning>;

const ToolDefinition = z.object({
  name: z.string().min(1).max(128),
  description: z.string().nullish(),
  inputSchema: z.looseObject({ type: z.literal('object') }),
  annotations: z
    .object({ readOnlyHint: z.unknown(), destructiveHint: z.unknown() })
    .partial()
    .nullish(),
});

const NamedTool = z.object({ name: z.string().min(1).max(128) });

/** Reads an entry of a list; `undefined` if it doesn't even have a name. */
export function readEntry(raw: unknown, clean: CleanText): ListEntry | undefined {
  const named = NamedTool.safeParse(raw);
  if (!named.success) return undefined;
  const name = clean(named.data.name);
  const { data } = ToolDefinition.safeParse(raw);
  if (!data) return { name, problem: 'Its definition breaks the protocol.' };
  // Checked first, because everything else takes long for a schema of a megabyte.
  if (Buffer.byteLength(JSON.stringify(data.inputSchema)) > MAX_SCHEMA_BYTES) {
    return { name, problem: `Its schema is longer than ${MAX_SCHEMA_BYTES / 1024} KB.` };
  }
  const inputSchema = cleanValue(data.inputSchema, clean, MAX_SCHEMA_DEPTH) as
    | Record<string, unknown>
    | undefined;
  if (!inputSchema) return { name, problem: 'Its schema is nested too deep.' };
  const { readOnlyHint, destructiveHint } = data.annotations ?? {};
  return {
    name,
    description: cleanLines((data.description ?? '').slice(0, 2 * MAX_DESCRIPTION), clean).slice(
      0,
      MAX_DESCRIPTION,
    ),
    inputSchema,
    isReadOnly: readOnlyHint === true,
    isDestructive: readOnlyHint !== true && destructiveHint !== false,
  };
}

/** Removes invisible characters, so that a person sees everything in a definition that a model sees. */
const cleanLines = (text: string, clean: CleanText) =>
  clean(text.split(/\r?\n/).map(oneLine).join('\n').trim());

/** Returns a copy of JSON with clean texts; `undefined` if it is nested too deep. */
function cleanValue(value: unknown, clean: CleanText, depth: number): unknown {
  if (typeof value === 'string') return cleanLines(value, clean);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item) => cleanValue(item, clean, depth - 1));
    return items.includes(undefined) ? undefined : items;
  }
  const fields = Object.entries(value).map(([key, field]) => [
    cleanLines(key, clean),
    cleanValue(field, clean, depth - 1),
  ]);
  return fields.some(([, field]) => field === undefined) ? undefined : Object.fromEntries(fields);
}

const TextContent = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('resource'), resource: z.object({ text: z.string() }) }),
  z.object({ type: z.literal('resource_link'), uri: z.string(), name: z.string().optional() }),
]);

/** Content that isn't text; only its kind is shown. */
const OtherContent = z.object({ type: z.string(), mimeType: z.string().optional() });

export function readAnswer(result: RawToolResult, clean: CleanText): ToolAnswer {
  const { structuredContent, content, isError } = result;
  const text = clean(
    structuredContent === undefined || structuredContent === null
      ? (content ?? []).map(textOfContent).join('\n')
      : JSON.stringify(structuredContent),
  );
  const bytes = Buffer.from(text);
  const isCut = bytes.length > MAX_RESULT_BYTES;
  return {
    // Without half a character at the cut.
    text: isCut
      ? bytes
          .subarray(0, MAX_RESULT_BYTES)
          .toString('utf8')
          .replace(/\ufffd+$/, '')
      : text,
    ...(isCut && { cutFromBytes: bytes.length }),
    isError: isError ?? false,
  };
}

function textOfContent(content: unknown): string {
  const { data } = TextContent.safeParse(content);
  if (data?.type === 'text') return data.text;
  if (data?.type === 'resource') return data.resource.text;
  if (data) return `[link: ${data.name ?? ''} ${data.uri}]`;
  const { type = 'something', mimeType } = OtherContent.safeParse(content).data ?? {};
  return `[${[type, mimeType].filter(Boolean).join(', ')}: not read]`;
}
