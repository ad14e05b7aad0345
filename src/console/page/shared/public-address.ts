import { PUBLIC_URL_META } from '../../shared/public-url.ts';

/** The program's address without a final slash: `PUBLIC_URL` if set, else the browser's own. */
export function publicAddress(): string {
  const meta = document.querySelector<HTMLMetaElement>(`meta[name="${PUBLIC_URL_META}"]`);
  return meta?.content || location.origin;
}
