import { isSecretName } from '../../contracts/secret-values.ts';
import type { SecretText } from './yaml-file.ts';

/** `${NAME}`, and `$${`, which stands for `${` itself. */
const REFERENCE = /\$\$\{|\$\{([^}]*)\}?/g;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Runs of characters that do not divide a target into its parts. */
const UNDIVIDED = /[^?#&;=@/:]+/g;

/**
 * A text with the values of its variables in their places, and the secret ones among them; or what is wrong with the first that
 * cannot be replaced, without a full stop. `taboo` are variables whose values are the program's own secrets.
 */
export function withVariables(
  text: string,
  context: {
    env: Readonly<Record<string, string | undefined>>;
    taboo: ReadonlySet<string>;
  },
): { text: string; secrets?: SecretText } | { fault: string } {
  const names = new Set<string>();
  for (const [whole, name] of text.matchAll(REFERENCE)) {
    const fault = name === undefined ? undefined : faultOf(whole, name, context);
    if (fault !== undefined) return { fault };
    if (name !== undefined && isSecretName(name)) names.add(name);
  }
  const replaced = (replacement: (name: string) => string) =>
    text.replace(REFERENCE, (_, name?: string) => (name === undefined ? '${' : replacement(name)));
  const { env } = context;
  // A value may divide a target itself, as in `?token=a&b`: only `a` is the token then.
  const masked = (mark: string) =>
    replaced((name) => {
      const value = env[name] ?? '';
      return isSecretName(name) ? value.replace(UNDIVIDED, mark) : value;
    });
  return {
    text: replaced((name) => env[name] ?? ''),
    ...(names.size > 0 && { secrets: { names: [...names], masked } }),
  };
}

function faultOf(
  whole: string,
  name: string,
  { env, taboo }: Parameters<typeof withVariables>[1],
): string | undefined {
  if (!NAME.test(name) || !whole.endsWith('}')) {
    return `write a variable as $\{NAME}, with letters, digits and underscores; for a literal $\{, write $$\{`;
  }
  if (taboo.has(name)) {
    return `the variable ${name} is one of Askwatch's own secrets, which are never sent to a target; use another one`;
  }
  if (env[name] === undefined) {
    return `the variable ${name} is not set; set it where Askwatch is started, or write $\${${name}} for this literal text`;
  }
  return undefined;
}
