import { isSecretName } from '../../contracts/secret-values.ts';

/** Values of variables, and the names of variables that hold the program's own secrets (`taboo`). */
export interface VariableValues {
  env: Readonly<Record<string, string | undefined>>;
  taboo: readonly string[];
}

/** A text with secret variables. `masked(mark)` is the text with `mark` in place of their values. */
export interface SecretText {
  names: string[];
  masked(mark: string): string;
}

/** `${NAME}`, and `$${`, which stands for `${` itself. */
const REFERENCE = /\$\$\{|\$\{([^}]*)\}?/g;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Runs of characters that don't divide a target into its parts. */
const UNDIVIDED = /[^?#&;=@/:]+/g;

/** Replaces the variables of a text. `fault` says, without a full stop, why the first bad one can't be replaced. */
export function replaceVariables(
  text: string,
  values: VariableValues,
): { text: string; secrets?: SecretText } | { fault: string } {
  const names = new Set<string>();
  for (const [whole, name] of text.matchAll(REFERENCE)) {
    if (name === undefined) continue;
    const fault = faultOf(whole, name, values);
    if (fault !== undefined) return { fault };
    if (isSecretName(name)) names.add(name);
  }
  const { env } = values;
  const replaceEach = (replacement: (name: string) => string) =>
    text.replace(REFERENCE, (_, name?: string) => (name === undefined ? '${' : replacement(name)));
  // A value may divide a target itself, as in `?token=a&b`: only `a` is the token then.
  const masked = (mark: string) =>
    replaceEach((name) => {
      const value = env[name] ?? '';
      return isSecretName(name) ? value.replace(UNDIVIDED, mark) : value;
    });
  return {
    text: replaceEach((name) => env[name] ?? ''),
    secrets: names.size > 0 ? { names: [...names], masked } : undefined,
  };
}

function faultOf(whole: string, name: string, { env, taboo }: VariableValues): string | undefined {
  if (!NAME.test(name) || !whole.endsWith('}')) {
    return `write a variable as $\{NAME}, with letters, digits and underscores; for a literal $\{, write $$\{`;
  }
  if (taboo.includes(name)) {
    return `the variable ${name} is one of Askwatch's own secrets, which are never sent to a target; use another one`;
  }
  if (env[name] === undefined) {
    return `the variable ${name} is not set; set it where Askwatch is started, or write $\${${name}} for this literal text`;
  }
  return undefined;
}
