import { isSecretName } from '../../contracts/secret-values.ts';

/** A variable with its value, where one stands in a text. */
export interface UsedVariable {
  name: string;
  /** Its name says that its value is not for everybody. */
  isSecret: boolean;
}

/** `${NAME}`, and `$${`, which stands for `${` itself. */
const REFERENCE = /\$\$\{|\$\{([^}]*)\}?/g;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * A text with the values of its variables in their places, and which those were; or what is wrong with the first that cannot be
 * replaced, without a full stop. `taboo` are variables whose values are the program's own secrets.
 */
export function withVariables(
  text: string,
  { env, taboo }: { env: Readonly<Record<string, string | undefined>>; taboo: ReadonlySet<string> },
): { text: string; used: UsedVariable[] } | { fault: string } {
  const used: UsedVariable[] = [];
  let fault: string | undefined;
  const replaced = text.replace(REFERENCE, (whole, name: string | undefined) => {
    if (name === undefined) return '${';
    if (fault !== undefined) return whole;
    if (!NAME.test(name) || !whole.endsWith('}')) {
      fault = `write a variable as $\{NAME}, with letters, digits and underscores; for the characters $\{ themselves write $$\{`;
      return whole;
    }
    if (taboo.has(name)) {
      fault = `the variable ${name} is a secret of Askwatch itself and goes to no target; take another one`;
      return whole;
    }
    const value = env[name];
    if (value === undefined) {
      fault = `the variable ${name} is not set; set it where Askwatch is started, or write $\${${name}} if these characters are meant`;
      return whole;
    }
    used.push({ name, isSecret: isSecretName(name) });
    return value;
  });
  return fault === undefined ? { text: replaced, used } : { fault };
}
