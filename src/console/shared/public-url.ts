/** Under this name a page tells its scripts where others reach the program, where that is set. */
export const PUBLIC_URL_META = 'askwatch-public-url';
