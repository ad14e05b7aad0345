/** Name of the meta tag with `PUBLIC_URL`. */
export const PUBLIC_URL_META = 'askwatch-public-url';
