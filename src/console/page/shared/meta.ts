import { PUBLIC_URL_META } from '../../shared/metas.ts';

/** The content of a meta tag of the page, such as the address of a script; empty without the tag. */
export const metaContent = (name: string): string =>
  document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';

/** The program's address without a final slash: `PUBLIC_URL` if set, else the browser's own. */
export const publicAddress = () => metaContent(PUBLIC_URL_META) || location.origin;
