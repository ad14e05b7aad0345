/** One instruction of a Dockerfile, its lines joined. */
export interface Instruction {
  name: string;
  text: string;
}

/** The instructions of a Dockerfile in their order. */
export function readDockerfile(text: string): Instruction[] {
  const lines = text.split('\n').filter((line) => !/^\s*(?:#|$)/.test(line));
  const joined = lines.join('\n').replace(/\s*\\\n\s*/g, ' ');
  return joined.split('\n').map((line) => {
    const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    return { name, text: rest.trim() };
  });
}

/** Which paths a .dockerignore lets into the build: the last line counts that names one or a folder above it. Of patterns it knows `*` alone. */
export function lettingIn(text: string): (path: string) => boolean {
  const lines = text.split('\n').filter((line) => !/^\s*(?:#|$)/.test(line));
  const rules = lines.map((line) => ({ isIn: line.startsWith('!'), name: line.replace(/^!/, '') }));
  const odd = rules.find(({ name }) => name !== '*' && /[*?[\]\\]/.test(name));
  if (odd) throw new Error(`Nobody knows here what ${odd.name} of .dockerignore means.`);
  return (path) =>
    rules.findLast(({ name }) => name === '*' || path === name || path.startsWith(`${name}/`))
      ?.isIn ?? true;
}
