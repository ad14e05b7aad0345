/** Under this name a page that only members see says which version runs. */
export const VERSION_META = 'askwatch-version';
