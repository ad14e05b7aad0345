import { createHmac } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { snowflake } from './state.ts';
import type { FakeAttachment } from './uploads.ts';

/** A file as somebody sends it; what it is said to be and to measure may be anything. */
export interface SentFile {
  name: string;
  bytes: Buffer;
  contentType?: string;
  size?: number;
}

/** A fault of the next file request. */
export type CdnFault =
  | { kind: 'status'; status: number }
  | { kind: 'redirect'; to: string }
  /** The headers come, and then nothing. */
  | { kind: 'hang' }
  | { kind: 'endless' };

/** A request of a file, as it came. */
export interface CdnRequest {
  path: string;
  authorization: string | undefined;
  status: number;
}

export type Cdn = ReturnType<typeof createCdn>;

/** Lifetime of a signed URL. Source: Discord docs, "Reference", "Signed Attachment CDN URLs". */
const GOOD_MS = 86_400_000;

/** The files of messages, at addresses that are signed and expire. */
export function createCdn({ origin }: { origin(): string }) {
  const files = new Map<string, FakeAttachment>();
  const requests: CdnRequest[] = [];
  const faults: CdnFault[] = [];
  let aheadMs = 0;

  const signatureOf = (path: string, until: string) =>
    createHmac('sha256', 'cdn').update(`${path} ${until}`).digest('hex');

  function addressOf({ id, filename, url }: FakeAttachment): string {
    if (url !== '') return url;
    const path = `/attachments/${id}/${encodeURIComponent(filename)}`;
    const until = Math.floor((Date.now() + aheadMs + GOOD_MS) / 1_000).toString(16);
    return `${origin()}${path}?ex=${until}&is=0&hm=${signatureOf(path, until)}&`;
  }

  function keep({ name, bytes, contentType = 'application/octet-stream', size }: SentFile) {
    const attachment: FakeAttachment = {
      ...{ id: snowflake(), filename: name, content_type: contentType, bytes, url: '' },
      size: size ?? bytes.length,
    };
    files.set(attachment.id, attachment);
    return attachment;
  }

  function statusOf(url: URL): number {
    const [, , id = ''] = url.pathname.split('/');
    const until = url.searchParams.get('ex') ?? '';
    const isSigned = url.searchParams.get('hm') === signatureOf(url.pathname, until);
    const isOver = Number.parseInt(until, 16) * 1_000 < Date.now() + aheadMs;
    return files.has(id) && isSigned && !isOver ? 200 : 404;
  }

  return {
    requests,
    /** Faults of the next requests, in order. */
    faults,
    addressOf,
    keep,
    /** Splits files from a command's values as Discord does: ids in the values, attachments separately. */
    beside(values: Record<string, unknown>) {
      const kept: Record<string, object> = {};
      const given = Object.entries(values).map(([name, value]) => {
        if (typeof value !== 'object' || value === null || !('bytes' in value))
          return [name, value];
        const attachment = keep(value as SentFile);
        const { bytes: _bytes, ...told } = attachment;
        kept[attachment.id] = { ...told, url: addressOf(attachment), ephemeral: true };
        return [name, attachment.id];
      });
      const attachments = Object.keys(kept).length > 0 ? kept : undefined;
      return { attachments, given: Object.fromEntries(given) as Record<string, unknown> };
    },
    /** Lets a day pass, after which addresses of before are good no more. */
    expire() {
      aheadMs += GOOD_MS + 1_000;
    },
    /** A person deletes a file. */
    remove(name: string) {
      for (const [id, { filename }] of files) if (filename === name) files.delete(id);
    },
    serve(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
      const url = new URL(incoming.url ?? '/', 'http://cdn');
      if (!url.pathname.startsWith('/attachments/')) return false;
      const { authorization } = incoming.headers;
      const fault = faults.shift();
      const status = fault?.kind === 'status' ? fault.status : statusOf(url);
      requests.push({ path: url.pathname, authorization, status });
      if (fault?.kind === 'redirect') {
        outgoing.writeHead(302, { location: fault.to }).end();
      } else if (fault?.kind === 'hang') {
        outgoing.writeHead(200);
        outgoing.flushHeaders();
      } else if (fault?.kind === 'endless') {
        outgoing.writeHead(200);
        const more = () => {
          while (!outgoing.destroyed && outgoing.write(Buffer.alloc(65_536, 'line\n'))) {}
        };
        outgoing.on('drain', more);
        more();
      } else {
        const [, , id = ''] = url.pathname.split('/');
        const { bytes, content_type } = files.get(id) ?? {};
        outgoing.writeHead(status, { 'content-type': content_type ?? 'text/plain' });
        outgoing.end(status === 200 ? bytes : 'This content is no longer available.');
      }
      return true;
    },
  };
}
