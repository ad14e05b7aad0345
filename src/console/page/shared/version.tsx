import { useEffect, useState } from 'preact/hooks';
import { VERSION_META } from '../../shared/metas.ts';
import { metaContent } from './meta.ts';

/** Shows the running version once the script has read it from the page. Pages for strangers don't have it. */
export function Version() {
  const [version, setVersion] = useState('');
  useEffect(() => setVersion(metaContent(VERSION_META)), []);
  return version === '' ? null : <span>Askwatch {version}</span>;
}
