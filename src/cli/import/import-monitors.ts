import type { SourceFile } from '../../monitoring/provisioning/definitions.ts';
import { DefinitionsError, type FileProblem } from '../../monitoring/provisioning/problem.ts';
import {
  createKeys,
  type WrittenMonitor,
  writeDefinitions,
} from '../../monitoring/provisioning/write-definitions.ts';
import { readYaml } from '../../monitoring/provisioning/yaml-file.ts';
import { gatusMonitors } from './gatus.ts';
import { type Imported, notesOf, writeChecked } from './imported.ts';
import { kumaMonitors } from './kuma.ts';
import { uptimeRobotMonitors } from './uptimerobot.ts';

export type ImportSource = 'kuma' | 'uptimerobot' | 'gatus' | 'file_sd';

/** Unsupported settings become comments. Throws a `DefinitionsError` or `CommandLineError` if the file can't be read. */
export async function importMonitors(from: ImportSource, file: SourceFile): Promise<string> {
  const heading = `Imported from ${file.name}.`;
  if (from === 'kuma') return await writeChecked(kumaMonitors(file.text), heading);
  if (from === 'uptimerobot') return await writeChecked(uptimeRobotMonitors(file.text), heading);
  const problems: FileProblem[] = [];
  const root = readYaml(file.text, {
    replace: (text) => ({ text }),
    report: (at, message) => problems.push({ file: file.name, ...at, message }),
  });
  const isList = Array.isArray(root?.value);
  if (problems.length === 0 && isList !== (from === 'file_sd')) {
    const message =
      from === 'gatus'
        ? 'this is not a Gatus configuration, which has a list under endpoints:'
        : 'this is not a Prometheus file_sd file, which is a list of objects with targets';
    problems.push({ file: file.name, line: 1, column: 1, message });
  }
  if (problems.length > 0) throw new DefinitionsError(problems);
  const imported = from === 'gatus' ? gatusMonitors(root?.value) : fileSdMonitors(root?.value);
  return written(imported, heading);
}

function written(imported: readonly Imported[], heading: string): string {
  const newKey = createKeys();
  const monitors = imported.flatMap((one): WrittenMonitor[] =>
    'isLeftOut' in one
      ? []
      : [{ key: newKey(one.name), fields: one.fields, comments: one.comments }],
  );
  return writeDefinitions(monitors, [heading, ...notesOf(imported)]);
}

/** Targets with a scheme are pages; others are ports. Source: Prometheus, configuration, file_sd_config. */
function fileSdMonitors(value: unknown): Imported[] {
  const groups = Array.isArray(value) ? value : [];
  return groups.flatMap((group: unknown) => {
    const { targets, labels } = (group ?? {}) as { targets?: unknown; labels?: unknown };
    const all = Array.isArray(targets) ? targets.map(String) : [];
    const told = Object.entries((labels ?? {}) as object).map(([name, text]) => `${name}=${text}`);
    const comments = told.length > 0 ? [`labels: ${told.join(', ')}`] : [];
    return all.map((target): Imported => {
      if (/^https?:\/\//i.test(target)) {
        return { name: nameOf(target), comments, fields: { target, check_type: 'HTTP' } };
      }
      if (/^(\[[^\]]+\]|[^:/\s]+):\d+$/.test(target)) {
        const note = 'Prometheus scrapes it over HTTP; use check_type: TCP to check only the port';
        const fields = { target: `http://${target}/`, check_type: 'HTTP' };
        return { name: target, comments: [...comments, note], fields };
      }
      return {
        name: target,
        comments: ['it has neither a scheme nor a port, so there is no way to check it'],
        isLeftOut: true,
      };
    });
  });
}

const nameOf = (url: string) => url.replace(/^https?:\/\//i, '').replace(/\/+$/, '');
