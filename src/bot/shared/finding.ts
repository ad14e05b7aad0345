/** What one check of an installation found. */
export interface Finding {
  /** What was checked, in a few words. */
  check: string;
  level: 'ok' | 'warning' | 'problem';
  /** What was found and, unless all is well, what to do next. It may hold foreign words: whoever prints it cleans them. */
  text: string;
}

const at =
  (level: Finding['level']) =>
  (check: string, text: string): Finding => ({ check, level, text });

export const ok = at('ok');
/** Works, but not as it could. */
export const warning = at('warning');
/** Does not work until somebody does something. */
export const problem = at('problem');

/** A name that others chose, short enough to stand in a sentence. */
export const shortName = (name: string) => (name.length > 60 ? `${name.slice(0, 60)}…` : name);
