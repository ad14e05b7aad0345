import type { Someone } from '../../shared/api-types.ts';

/** The hues of people. */
const HUES = [265, 205, 160, 35, 335, 90];

/** The first letter of somebody's name, on a colour that stays theirs. */
export function Avatar({ someone, name }: { someone: Someone; name: string }) {
  const sum = [...someone.id].reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return (
    <span class="person" style={`--hue: ${HUES[sum % HUES.length]}`} aria-hidden="true">
      {[...name.trim()][0]?.toUpperCase() ?? '?'}
    </span>
  );
}
