import { PUBLIC_URL_META } from '../../shared/public-url.ts';

/** Where others reach the program, without a slash at its end: as it is set, else where this browser reached it. */
export function publicAddress(): string {
  const meta = document.querySelector<HTMLMetaElement>(`meta[name="${PUBLIC_URL_META}"]`);
  return meta?.content || location.origin;
}
