import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { ShownFile } from '../../../shared/api-types.ts';
import { MAX_FILE_BYTES, MAX_FILES } from '../../../shared/file-limits.ts';
import { CloseIcon } from '../../shared/icons.tsx';
import { randomId } from '../../shared/random-id.ts';
import { sentenceOf } from '../../shared/requests.ts';
import { Reader } from '../reader-context.ts';

/** A file that is about to be sent: on its way to the server, or kept there. */
interface Attached {
  key: string;
  name: string;
  kept?: ShownFile;
}

/** The files that go with the next message from here, and what is done with them. */
export function useAttachedFiles(channel: string, onProblem: (problem: string) => void) {
  const { upload } = useContext(Reader);
  const [files, setFiles] = useState<Attached[]>([]);
  const now = useRef(files);
  now.current = files;
  const gone = useRef(new AbortController());
  useEffect(() => () => gone.current.abort(), []);

  function change(make: (files: Attached[]) => Attached[]) {
    now.current = make(now.current);
    setFiles(now.current);
  }

  async function send(file: File) {
    const key = randomId();
    const name = file.name || 'picture.png';
    change((all) => [...all, { key, name }]);
    try {
      const kept = await upload(channel, name, file, gone.current.signal);
      change((all) => all.map((one) => (one.key === key ? { ...one, kept } : one)));
    } catch (error) {
      if (gone.current.signal.aborted) return;
      change((all) => all.filter((one) => one.key !== key));
      onProblem(`Couldn't attach “${name}”. ${sentenceOf(error)}`);
    }
  }

  return {
    files,
    /** Those that the server has, by their ids. */
    ids: files.flatMap(({ kept }) => kept?.id ?? []),
    isSending: files.some(({ kept }) => kept === undefined),
    add(list: Iterable<File>) {
      onProblem('');
      const room = MAX_FILES - now.current.length;
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
      for (const file of fitting.slice(0, room)) void send(file);
    },
    remove: (key: string) => change((all) => all.filter((one) => one.key !== key)),
    /** Takes all away, since they are sent; what this gives puts them back. */
    take() {
      const taken = now.current;
      change(() => []);
      return () => change((all) => [...taken, ...all].slice(0, MAX_FILES));
    },
  };
}

/** The files above the line, each with a button that takes it away. */
export function AttachedFiles(props: {
  files: readonly Attached[];
  onRemove: (key: string) => void;
}) {
  const { files, onRemove } = props;
  if (files.length === 0) return null;
  return (
    <ul class="attached flow" aria-label="Attached files">
      {files.map(({ key, name, kept }) => (
        <li key={key} class="framed beside">
          {kept?.picture && <img src={`/console/files/${kept.id}`} alt="" />}
          <span class="name">{name}</span>
          {!kept && <span class="minor">attaching…</span>}
          <button type="button" aria-label={`Remove ${name}`} onClick={() => onRemove(key)}>
            <CloseIcon />
          </button>
        </li>
      ))}
    </ul>
  );
}
