import { useEffect, useState } from 'preact/hooks';
import { VERSION_META } from '../../shared/version-meta.ts';

/** The version that runs; nothing until the page's script does, nor where the page does not say it. */
export function Version() {
  const [version, setVersion] = useState('');
  useEffect(() => {
    const meta = document.querySelector<HTMLMetaElement>(`meta[name="${VERSION_META}"]`);
    setVersion(meta?.content ?? '');
  }, []);
  return version === '' ? null : <span>Askwatch {version}</span>;
}
