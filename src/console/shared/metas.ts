/** Names of the meta tags with `PUBLIC_URL`, the path of the playground if it exists and, on pages for members, the version. */
export const PUBLIC_URL_META = 'askwatch-public-url';
export const VERSION_META = 'askwatch-version';
export const PLAYGROUND_META = 'askwatch-playground';
