import type { webApi } from '@slack/bolt';
import { download } from '../../bot/files/download.ts';
import { FileError, GONE, type SharedFile, sharedFile } from '../../bot/shared/shared-file.ts';
import { explainFailure, readFailure } from './call-failure.ts';

/** Slack allows this many files in a message. */
const MAX_FILES = 10;

const NO_SCOPE =
  'the Slack app lacks the scope files:read. Add it under "OAuth & Permissions" and reinstall the app.';
const ELSEWHERE = 'it is stored outside Slack. Send the file itself.';
const CANVAS =
  'it is a canvas or a list, which Askwatch can’t read. Copy the text that matters into your message.';
const UNSEEN =
  'Askwatch can’t see it: it was deleted, or it is in a channel without the bot. Invite the bot there, or send the file again.';
const HIDDEN = 'this workspace’s plan hides files this old. Send it again.';

const UNREADABLE: Record<string, string> = {
  tombstone: GONE,
  external: ELSEWHERE,
  hidden_by_limit: HIDDEN,
  quip: CANVAS,
  list: CANVAS,
};

/**
 * The files of a message. The event isn't trusted. Source: Slack docs, "File object", "Slack Connect": for another workspace's
 * file there is only an id.
 */
export function filesIn(files: unknown): SharedFile[] {
  return Array.isArray(files)
    ? files.slice(0, MAX_FILES).flatMap((file) => fileIn(file) ?? [])
    : [];
}

function fileIn(file: unknown): SharedFile | undefined {
  const told = typeof file === 'object' && file !== null ? (file as Record<string, unknown>) : {};
  const { id, name, title, mimetype, filetype, size, mode, is_external } = told;
  if (typeof id !== 'string') return undefined;
  const kind = is_external === true ? 'external' : [mode, filetype].find(isUnreadable);
  const address = told.url_private_download ?? told.url_private;
  return sharedFile({
    ...{ name: name ?? title, mediaType: mimetype, bytes: size },
    ref: {
      id: id.slice(0, 50),
      ...(kind === undefined ? typeof address === 'string' && { url: address } : { not: kind }),
    },
  });
}

const isUnreadable = (kind: unknown): kind is string =>
  typeof kind === 'string' && Object.hasOwn(UNREADABLE, kind);

const DOMAINS = ['slack.com', 'slack-files.com', 'slack-edge.com'];
const GOVERNMENT = ['slack-gov.com', 'slack-gov-files.com', 'slack-gov-edge.com'];

/**
 * Streams the files of a workspace from Slack's hosts, or from the host of the configured Web API. The token is sent to the
 * address that Slack named, not to redirects.
 */
export function createReadFile(client: webApi.WebClient) {
  const own = new URL(client.slackApiUrl);
  const isGovernment = isIn(own.hostname, GOVERNMENT);
  const isSlack = isGovernment || isIn(own.hostname, DOMAINS);
  const domains = isGovernment ? GOVERNMENT : DOMAINS;
  const isAllowed = (url: URL) =>
    (url.protocol === 'https:' && url.port === '' && isIn(url.hostname, domains)) ||
    (!isSlack && url.origin === own.origin);

  /** If the bot may not read a file, Slack redirects to a sign-in page or returns it in place of the file. */
  function check({ status, headers }: Response, url: URL, { mediaType }: SharedFile) {
    const to = headers.get('location');
    const leadsTo = to !== null && URL.canParse(to, url.href) ? new URL(to, url) : undefined;
    const isPage = headers.get('content-type')?.startsWith('text/html') === true;
    const isSignIn = leadsTo?.searchParams.has('redir') ?? url.searchParams.has('redir');
    const isInPlace = status === 200 && isPage && mediaType !== 'text/html';
    if (isSignIn || isInPlace) throw new FileError(NO_SCOPE);
  }

  return async function* readFile(file: SharedFile, signal: AbortSignal) {
    const { id = '', url, not } = file.ref;
    if (not !== undefined) throw new FileError(UNREADABLE[not] ?? GONE);
    const address = url ?? (await addressOf(id));
    signal.throwIfAborted();
    yield* download(address, {
      isAllowed,
      authorization: `Bearer ${client.token}`,
      check: (answer, at) => check(answer, at, file),
      signal,
    });
  };

  async function addressOf(id: string): Promise<string> {
    let found: SharedFile | undefined;
    try {
      found = fileIn((await client.files.info({ file: id })).file);
    } catch (error) {
      const { kind, code } = readFailure(error);
      if (code === 'missing_scope') throw new FileError(NO_SCOPE);
      if (kind === 'refused') throw new FileError(UNSEEN, { isGone: true, cause: error });
      throw new FileError(`${explainFailure(error)} Ask again in a moment.`, { cause: error });
    }
    const { url, not } = found?.ref ?? {};
    if (url !== undefined) return url;
    throw new FileError(not === undefined ? GONE : (UNREADABLE[not] ?? GONE));
  }
}

const isIn = (host: string, domains: readonly string[]) =>
  domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
