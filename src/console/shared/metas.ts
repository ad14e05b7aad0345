/** Names of the meta tags with `PUBLIC_URL` and, on pages for members, the version. */
export const PUBLIC_URL_META = 'askwatch-public-url';
export const VERSION_META = 'askwatch-version';
