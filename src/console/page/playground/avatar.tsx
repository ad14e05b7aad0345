import type { Someone } from '../../shared/api-types.ts';

/** As many colours as `message.css` has for people. */
const COLOURS = 6;

/** The first letter of somebody's name, on a colour that stays theirs. */
export function Avatar({ someone, name }: { someone: Someone; name: string }) {
  const sum = [...someone.id].reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return (
    <span class={`person p${sum % COLOURS}`} aria-hidden="true">
      {[...name.trim()][0]?.toUpperCase() ?? '?'}
    </span>
  );
}
