import { randomUUID } from 'node:crypto';
import { blocksProblem } from './limits.ts';
import type { Answer, Arguments, Workspace } from './workspace.ts';

/** A file as the workspace keeps it. */
export interface UploadedFile {
  id: string;
  name: string;
  title: string;
  text: string;
}

/** The three steps in which an app shares a file. */
export interface UploadsFake {
  call(method: string, args: Arguments): Answer | undefined;
  /** Takes the bytes of a file at the address that was given for it; the status that Slack answers. */
  upload(path: string, bytes: Buffer): number;
}

/** Most bytes of a file. Source: Slack docs, "Working with files", 1 GB. */
const MAX_BYTES = 1_000_000_000;

/** Sources: Slack docs, "files.getUploadURLExternal", "files.completeUploadExternal", and "Working with files". */
export function createUploads(workspace: Workspace, origin: () => string): UploadsFake {
  const pending = new Map<string, { id: string; name: string; length: number; text?: string }>();
  let made = 0;

  const lacksScope = (): Answer | undefined =>
    workspace.scopes.has('files:write')
      ? undefined
      : { ok: false, error: 'missing_scope', needed: 'files:write' };

  function address(args: Arguments): Answer {
    const length = Number(args.length);
    if (length > MAX_BYTES) return no('file_upload_size_restricted');
    made += 1;
    const id = `F00FAKE${made}`;
    const path = `/upload/v1/${randomUUID()}`;
    pending.set(path, { id, name: String(args.filename), length });
    return { ok: true, upload_url: `${origin()}${path}`, file_id: id };
  }

  function complete(args: Arguments): Answer {
    const { channel_id: id, thread_ts, blocks } = args;
    const channel = workspace.channels.get(String(id));
    if (!channel) return no('channel_not_found');
    if (!channel.member) return no('not_in_channel');
    if (channel.archived) return no('is_archived');
    if (!channel.messages.some(({ ts }) => ts === thread_ts)) return no('invalid_thread_ts');
    const problem = blocks === undefined ? undefined : blocksProblem(blocks);
    if (problem) return no(problem);
    const wanted = args.files as { id: string; title?: string }[];
    const files: UploadedFile[] = [];
    for (const { id: file, title } of wanted) {
      const [path, found] = [...pending].find(([, one]) => one.id === file) ?? [];
      // Each is shared once, and none without its bytes.
      if (path === undefined || found?.text === undefined) return no('file_not_found');
      pending.delete(path);
      files.push({ id: file, name: found.name, title: title ?? found.name, text: found.text });
    }
    const message = workspace.say(channel.id, {
      user: workspace.botUserId,
      text: '',
      threadTs: String(thread_ts),
    });
    Object.assign(message, {
      bot_id: 'B00ASKWATCH',
      files,
      blocks,
    });
    return { ok: true, files: files.map(({ id: file, title }) => ({ id: file, title })) };
  }

  return {
    call(method, args) {
      if (method === 'files.getUploadURLExternal') return lacksScope() ?? address(args);
      if (method === 'files.completeUploadExternal') return lacksScope() ?? complete(args);
      return undefined;
    },
    upload(path, bytes) {
      const file = pending.get(path);
      if (!file) return 404;
      if (file.length !== bytes.length) return 400;
      file.text = bytes.toString();
      return 200;
    },
  };
}

const no = (error: string): Answer => ({ ok: false, error });
