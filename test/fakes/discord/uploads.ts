/** A file that came with a message. */
export interface Upload {
  id: number;
  name: string;
  contentType: string;
  bytes: Buffer;
}

/** A file of a message as Discord keeps it. */
export interface FakeAttachment {
  id: string;
  filename: string;
  content_type: string;
  size: number;
  url: string;
  description?: string;
  bytes: Buffer;
}

/** Source: Discord docs, "Uploading Files": 10 MiB a file, ten files; the whole request 25 MiB. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;
const MAX_REQUEST_BYTES = 25 * 1024 * 1024;
const MAX_FILES = 10;

/** The body of a request: JSON, or a form whose `payload_json` is that, with files beside it. */
export async function readBody(
  bytes: Buffer,
  contentType = '',
): Promise<{ body: Record<string, unknown> | undefined; uploads: Upload[] }> {
  if (!contentType.startsWith('multipart/form-data')) {
    const text = bytes.toString();
    return { body: text === '' ? undefined : JSON.parse(text), uploads: [] };
  }
  const form = await new Response(new Uint8Array(bytes), {
    headers: { 'content-type': contentType },
  }).formData();
  const uploads: Upload[] = [];
  for (const [key, value] of form) {
    const [, id] = /^files\[(\d+)\]$/.exec(key) ?? [];
    if (id === undefined || typeof value === 'string') continue;
    const bytes = Buffer.from(await value.arrayBuffer());
    uploads.push({ id: Number(id), name: value.name, contentType: value.type, bytes });
  }
  return { body: JSON.parse(String(form.get('payload_json') ?? '{}')), uploads };
}

/** Returns the error for too many or too large files. */
export function uploadProblem(
  uploads: readonly Upload[],
): { status: number; code: number; message: string } | undefined {
  const sizes = uploads.map(({ bytes }) => bytes.length);
  const whole = sizes.reduce((sum, size) => sum + size, 0);
  if (whole > MAX_REQUEST_BYTES || sizes.some((size) => size > MAX_FILE_BYTES)) {
    return { status: 413, code: 40_005, message: 'Request entity too large' };
  }
  if (uploads.length > MAX_FILES) {
    return { status: 400, code: 30_015, message: 'Maximum number of attachments reached' };
  }
  return undefined;
}

/** The files as they are kept, with what the body says of them. */
export function attachmentsOf(
  uploads: readonly Upload[],
  described: readonly { id?: string | number; description?: string }[] = [],
): FakeAttachment[] {
  return uploads.map(({ id, name, contentType, bytes }) => ({
    id: String(1_000_000_000_000_000_000n + BigInt(id)),
    filename: name,
    content_type: contentType,
    size: bytes.length,
    url: `https://cdn.discordapp.com/attachments/${name}`,
    description: described.find((one) => Number(one.id) === id)?.description,
    bytes,
  }));
}

/** The embeds with the address of each file that they name; Discord shows no picture for a name that is not there. */
export function withPictures(
  embeds: Record<string, unknown>[],
  attachments: readonly FakeAttachment[],
): Record<string, unknown>[] {
  return embeds.map((embed) => {
    const { image, ...rest } = embed as { image?: { url: string } };
    const file = attachments.find(({ filename }) => image?.url === `attachment://${filename}`);
    if (file) return { ...rest, image: { url: file.url } };
    return image?.url.startsWith('attachment://') ? rest : embed;
  });
}
