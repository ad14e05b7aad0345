import { useEffect, useRef, useState } from 'preact/hooks';
import type { ShownFile } from '../../../shared/api-types.ts';
import { MAX_FILE_BYTES, MAX_FILES } from '../../../shared/file-limits.ts';
import { CloseIcon } from '../../shared/icons.tsx';
import { randomId } from '../../shared/random-id.ts';
import { sentenceOf } from '../../shared/requests.ts';
import { uploadFile } from '../requests.ts';

export interface AttachedFile {
  key: string;
  name: string;
  /** Absent until it is uploaded. */
  uploaded?: ShownFile;
}

export function useAttachedFiles(channel: string, onProblem: (problem: string) => void) {
  const [files, setFiles] = useState<AttachedFile[]>([]);
  /** Newer than `files` until the next drawing. */
  const current = useRef(files);
  const unmount = useRef(new AbortController());
  useEffect(() => () => unmount.current.abort(), []);

  function change(update: (files: AttachedFile[]) => AttachedFile[]) {
    current.current = update(current.current);
    setFiles(current.current);
  }

  async function upload(file: File) {
    const key = randomId();
    const name = file.name || 'picture.png';
    change((all) => [...all, { key, name }]);
    try {
      const uploaded = await uploadFile(channel, name, file, unmount.current.signal);
      change((all) => all.map((one) => (one.key === key ? { ...one, uploaded } : one)));
    } catch (error) {
      if (unmount.current.signal.aborted) return;
      change((all) => all.filter((one) => one.key !== key));
      onProblem(`Couldn't attach “${name}”. ${sentenceOf(error)}`);
    }
  }

  return {
    files,
    ids: files.flatMap(({ uploaded }) => uploaded?.id ?? []),
    isSending: files.some(({ uploaded }) => uploaded === undefined),
    add(list: Iterable<File>) {
      onProblem('');
      const room = MAX_FILES - current.current.length;
      const all = [...list];
      const fitting = all.filter(({ size }) => size <= MAX_FILE_BYTES);
      const large = all.find(({ size }) => size > MAX_FILE_BYTES);
      if (large) {
        onProblem(`“${large.name}” is larger than ${MAX_FILE_BYTES / 1_000_000} MB.`);
      } else if (fitting.length > room) {
        onProblem(
          `A message can have up to ${MAX_FILES} files. Send the rest with your next message.`,
        );
      }
      for (const file of fitting.slice(0, room)) void upload(file);
    },
    remove: (key: string) => change((all) => all.filter((one) => one.key !== key)),
    /** Removes and returns all files, because they are sent. */
    take() {
      const taken = current.current;
      change(() => []);
      return taken;
    },
    putBack: (taken: AttachedFile[]) => change((all) => [...taken, ...all].slice(0, MAX_FILES)),
  };
}

export function AttachedFiles(props: {
  files: readonly AttachedFile[];
  onRemove: (key: string) => void;
}) {
  const { files, onRemove } = props;
  if (files.length === 0) return null;
  return (
    <ul class="attached flow" aria-label="Attached files">
      {files.map(({ key, name, uploaded }) => (
        <li key={key} class="framed beside">
          {uploaded?.picture && <img src={`/console/files/${uploaded.id}`} alt="" />}
          <span class="name clipped">{name}</span>
          {!uploaded && <span class="minor">attaching…</span>}
          <button type="button" aria-label={`Remove ${name}`} onClick={() => onRemove(key)}>
            <CloseIcon />
          </button>
        </li>
      ))}
    </ul>
  );
}
