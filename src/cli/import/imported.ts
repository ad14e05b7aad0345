import { MAX_TAGS, Tags } from '../../contracts/monitoring.ts';
import { plainWords } from '../../contracts/plain-words.ts';
import { HttpError } from '../../http/errors.ts';
import { createSsrfGuard } from '../../http/ssrf-guard.ts';
import { type Admit, createAdmission } from '../../monitoring/api/admission.ts';
import { createdDefinition } from '../../monitoring/api/monitor-change.ts';
import type { MonitorDefinition } from '../../monitoring/checks/check-type.ts';
import { shippedTypes } from '../../monitoring/checks/registry.ts';
import { MAX_MONITORS } from '../../monitoring/monitors/monitors.ts';
import {
  createKeys,
  writeNewDefinitions,
} from '../../monitoring/provisioning/write-definitions.ts';
import { CommandLineError } from '../command.ts';

/** A monitor of another system, or why it is none here. */
export type Imported = { name: string; comments: string[] } & (
  | { fields: Record<string, unknown> }
  | { isLeftOut: true }
);

export const leftOut = (name: string, why: string): Imported => ({
  ...{ name, comments: [why] },
  isLeftOut: true,
});

/** Longest line about a monitor; another program's file may have names of any length. */
const MAX_NOTE = 500;

/** Lines about the monitors that are not imported. */
export function notesOf(imported: readonly Imported[]): string[] {
  const lines = imported.flatMap((one) =>
    'isLeftOut' in one ? [`${one.name}: ${one.comments.join('; ')}`.slice(0, MAX_NOTE)] : [],
  );
  return lines.length === 0 ? [] : [`Not imported (${lines.length}):`, ...lines];
}

/** Tags of other systems may have spaces, capital letters and other characters. */
export function tagsFrom(texts: readonly string[], comments: string[]): string[] {
  const tags = texts.map((text) =>
    text
      .normalize('NFC')
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}._:/-]+/gu, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 40),
  );
  const different = [...new Set(tags)].filter((tag) => Tags.safeParse([tag]).success);
  if (different.length > MAX_TAGS) {
    comments.push(`not imported: tags beyond ${MAX_TAGS}: ${different.slice(MAX_TAGS).join(', ')}`);
  }
  return different.slice(0, MAX_TAGS);
}

/** Networks whose addresses are checked only if the operator allows it. */
const NETWORKS = [
  ...['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'],
  ...['169.254.0.0/16', '::1/128', 'fc00::/7', 'fe80::/10'],
];

/**
 * Writes monitors whose secrets are in the clear: variables replace these. Each one is checked as a file with it would be, and left
 * out with the problem if there is one, so the file can be applied.
 */
export async function writeChecked(
  imported: readonly Imported[],
  heading: string,
): Promise<string> {
  if (imported.length > MAX_MONITORS) {
    throw new CommandLineError(
      `The file has ${imported.length} monitors, and Askwatch holds at most ${MAX_MONITORS}. Remove some there first.`,
    );
  }
  const newKey = createKeys();
  const written: Array<{ key: string; definition: MonitorDefinition; comments: string[] }> = [];
  const notWritten: Imported[] = [];
  const networks = new Set<string>();
  const check = createChecker();
  for (const one of imported) {
    const checked = 'isLeftOut' in one ? undefined : await check(one.fields);
    if (checked === undefined) notWritten.push(one);
    else if ('fault' in checked) notWritten.push(leftOut(one.name, checked.fault));
    else {
      const { name, comments } = one;
      written.push({ key: newKey(name), definition: checked.definition, comments });
      if (checked.network !== undefined) networks.add(checked.network);
    }
  }
  const allow =
    networks.size === 0
      ? []
      : [
          `Some targets are on a private network. Allow it first: MONITOR_ALLOW_PRIVATE=${[...networks].join(',')}`,
        ];
  return writeNewDefinitions(written, [heading, ...allow, ...notesOf(notWritten)]);
}

/** Checks fields as `monitors plan` does. `network` has to be allowed for the target. */
function createChecker() {
  const admissionFor = (networks: string[]): Admit =>
    createAdmission({ guard: createSsrfGuard(networks), lookup: async () => [] });
  const admit = admissionFor([]);
  const admitIn = NETWORKS.map((network) => [network, admissionFor([network])] as const);
  return async (
    fields: Record<string, unknown>,
  ): Promise<{ fault: string } | { definition: MonitorDefinition; network?: string }> => {
    const result = shippedTypes.schema.safeParse(fields, { error: plainWords });
    if (!result.success) {
      const [issue] = result.error.issues;
      return { fault: `Invalid '${issue?.path.join('.')}': ${issue?.message}.` };
    }
    const definition = createdDefinition(result.data);
    const fault = await faultOf(definition, admit);
    if (fault === undefined) return { definition };
    for (const [network, admitThere] of admitIn) {
      if ((await faultOf(definition, admitThere)) === undefined) return { definition, network };
    }
    return { fault };
  };
}

async function faultOf(definition: MonitorDefinition, admit: Admit): Promise<string | undefined> {
  try {
    await admit(definition);
    return undefined;
  } catch (error) {
    if (error instanceof HttpError) return error.message;
    throw error;
  }
}
