/** Name of the meta tag with the version, on pages for members. */
export const VERSION_META = 'askwatch-version';
