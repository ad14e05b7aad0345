import type { IncomingMessage, ServerResponse } from 'node:http';

/** A file as somebody sends it; what it is said to be and to measure may be anything. */
export interface SentFile {
  name: string;
  bytes: Buffer;
  mimetype?: string;
  size?: number;
  /** Further fields of the file object, such as `mode`; `url_private` and the other address may be others. */
  more?: Record<string, unknown>;
  /** A file of another workspace; the event has only its id. */
  connect?: boolean;
}

/** A fault of the next file request. */
export type FileFault =
  | { kind: 'redirect'; to: string }
  /** The page to sign in, where the file was to be. */
  | { kind: 'page' }
  | { kind: 'status'; status: number }
  | { kind: 'hang' };

/** A request of a file, as it came. */
export interface FileRequest {
  path: string;
  authorization: string | undefined;
}

export type FilesFake = ReturnType<typeof createFiles>;

const SIGN_IN = '<!DOCTYPE html><html lang="en-US"><head><title>Sign in to Fake | Slack</title>';

/** Files of a workspace, which need its token and the scope. Source: Slack docs, "Working with files". */
export function createFiles(options: {
  teamId: string;
  address(): string;
  token(): string;
  scopes: ReadonlySet<string>;
}) {
  const { teamId, address, token, scopes } = options;
  const kept = new Map<string, { told: Record<string, unknown>; bytes: Buffer }>();
  const requests: FileRequest[] = [];
  const faults: FileFault[] = [];

  return {
    requests,
    faults,
    /** Stores a file and returns its form in events. */
    keep({ name, bytes, mimetype = 'application/octet-stream', more, connect, ...sent }: SentFile) {
      const id = `F00FAKE${kept.size + 1}`;
      const path = `${teamId}-${id}/${encodeURIComponent(name)}`;
      const told = {
        ...{ id, name, title: name, mimetype, mode: 'hosted', is_external: false },
        size: sent.size ?? bytes.length,
        url_private: `http://${address()}/files-pri/${path}`,
        url_private_download: `http://${address()}/files-pri/${path}?download`,
        ...more,
      };
      kept.set(id, { told, bytes });
      return connect ? { id, file_access: 'check_file_info' } : told;
    },
    /** A person deletes a file. */
    remove(name: string) {
      for (const [id, { told }] of kept) if (told.name === name) kept.delete(id);
    },
    info(id: unknown) {
      if (!scopes.has('files:read')) {
        return { ok: false, error: 'missing_scope', needed: 'files:read' };
      }
      const found = kept.get(String(id));
      return found ? { ok: true, file: found.told } : { ok: false, error: 'file_not_found' };
    },
    /** Answers the request of a file; false for what is none. */
    serve(request: IncomingMessage, response: ServerResponse): boolean {
      const url = new URL(request.url ?? '/', 'http://fake');
      if (url.pathname === '/') {
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(SIGN_IN);
        return true;
      }
      const [, id = ''] = /^\/files-pri\/[^-]+-(\w+)\//.exec(url.pathname) ?? [];
      if (!url.pathname.startsWith('/files-pri/')) return false;
      const { authorization } = request.headers;
      requests.push({ path: url.pathname, authorization });
      const fault = faults.shift();
      const may = authorization === `Bearer ${token()}` && scopes.has('files:read');
      if (fault?.kind === 'redirect') response.writeHead(302, { location: fault.to }).end();
      else if (fault?.kind === 'status') response.writeHead(fault.status).end();
      else if (fault?.kind === 'page') {
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(SIGN_IN);
      } else if (fault?.kind === 'hang') {
        response.writeHead(200).flushHeaders();
      } else if (!may) {
        const to = `http://${address()}/?redir=${encodeURIComponent(url.pathname)}`;
        response.writeHead(302, { location: to, 'x-slack-meta': '?;acl_fail' }).end();
      } else {
        const { told, bytes } = kept.get(id) ?? {};
        const type = String(told?.mimetype ?? 'text/plain');
        response.writeHead(told ? 200 : 404, { 'content-type': type }).end(bytes);
      }
      return true;
    },
  };
}
