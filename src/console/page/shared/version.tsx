import { useEffect, useState } from 'preact/hooks';
import { VERSION_META } from '../../shared/version-meta.ts';

/** Shows the running version once the script has read it from the page. Pages for strangers don't have it. */
export function Version() {
  const [version, setVersion] = useState('');
  useEffect(() => {
    const meta = document.querySelector<HTMLMetaElement>(`meta[name="${VERSION_META}"]`);
    setVersion(meta?.content ?? '');
  }, []);
  return version === '' ? null : <span>Askwatch {version}</span>;
}
