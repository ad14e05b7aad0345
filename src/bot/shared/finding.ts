/** Result of one check of an installation. */
export interface Finding {
  check: string;
  level: 'ok' | 'warning' | 'problem';
  /** The result and, unless it is ok, what to do next. May contain text from outside. */
  text: string;
}

const at =
  (level: Finding['level']) =>
  (check: string, text: string): Finding => ({ check, level, text });

export const ok = at('ok');
/** It works, but could work better. */
export const warning = at('warning');
/** It doesn't work. */
export const problem = at('problem');

/** A name from outside, short enough for a sentence. */
export const shortName = (name: string) => (name.length > 60 ? `${name.slice(0, 60)}…` : name);
