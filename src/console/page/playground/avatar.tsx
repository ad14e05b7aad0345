import type { ConsolePerson } from '../../shared/api-types.ts';

const HUES = [265, 205, 160, 35, 335, 90];

export function Avatar({ someone, name }: { someone: ConsolePerson; name: string }) {
  const sum = [...someone.id].reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return (
    <span class="person" style={`--hue: ${HUES[sum % HUES.length]}`} aria-hidden="true">
      {[...name.trim()][0]?.toUpperCase() ?? '?'}
    </span>
  );
}
