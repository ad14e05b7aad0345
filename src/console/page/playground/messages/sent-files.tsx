import { useState } from 'preact/hooks';
import type { ShownFile } from '../../../shared/api-types.ts';

export function SentFiles({ files }: { files: readonly ShownFile[] }) {
  return (
    <ul class="sent flow" aria-label="Files of this message">
      {files.map((file) => (
        <li key={file.id}>
          <SentFile file={file} />
        </li>
      ))}
    </ul>
  );
}

function SentFile({ file: { id, name, picture } }: { file: ShownFile }) {
  const [isGone, setIsGone] = useState(false);
  const address = `/console/files/${encodeURIComponent(id)}`;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" class="framed">
      {picture && !isGone && (
        <img src={address} alt="" loading="lazy" onError={() => setIsGone(true)} />
      )}
      <span class="name clipped">{name}</span>
    </a>
  );
}
