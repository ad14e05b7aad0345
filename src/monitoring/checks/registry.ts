import { z } from 'zod';
import { certificate } from './certificate-check.ts';
import type { CheckedMonitor, CheckType, MonitorDefinition, ProbedType } from './check-type.ts';
import { dns } from './dns.ts';
import { heartbeat } from './heartbeat.ts';
import { http } from './http.ts';
import { keyword } from './keyword.ts';
import { tcp } from './tcp.ts';

/** The types of check there are. Another one is a module like these, and its line here. */
export const SHIPPED_TYPES: readonly CheckType[] = [
  http,
  keyword,
  dns,
  tcp,
  certificate,
  heartbeat,
];

/** Types of check by their names, which stand in `check_type`. */
export interface CheckTypes {
  /** A monitor of any of the types. */
  readonly schema: z.ZodType<MonitorDefinition>;
  /** The names of the types. */
  readonly names: readonly string[];
  of(definition: Pick<MonitorDefinition, 'check_type'>): CheckType;
  ofChecked(definition: CheckedMonitor): ProbedType;
  /** The names of the settings that its type has. */
  settingsOf(definition: Pick<MonitorDefinition, 'check_type'>): ReadonlySet<string>;
  /** What stands for a setting that is left out; `undefined` for one that must be given, or may be absent. */
  defaultOf(definition: MonitorDefinition, setting: string): unknown;
}

export function createCheckTypes(types: readonly CheckType[]): CheckTypes {
  const byName = new Map(types.map((type) => [type.schema.shape.check_type.value, type]));
  const [first, ...rest] = types.map(({ schema }) => schema);
  if (first === undefined) throw new TypeError('No check types were given.');
  function of({ check_type }: Pick<MonitorDefinition, 'check_type'>): CheckType {
    const type = byName.get(check_type);
    if (type === undefined) throw new TypeError(`Unknown check type ${check_type}.`);
    return type;
  }
  return {
    names: [...byName.keys()],
    schema: z.discriminatedUnion('check_type', [first, ...rest]) as unknown as CheckTypes['schema'],
    of,
    ofChecked(definition) {
      const type = of(definition);
      if (!isProbed(type)) throw new TypeError(`${definition.check_type} is not probed.`);
      return type;
    },
    defaultOf: (definition, setting) =>
      settingsIn(of(definition)).shape[setting]?.safeParse(undefined).data,
    settingsOf: (definition) => new Set(Object.keys(settingsIn(of(definition)).shape)),
  };
}

const isProbed = (type: CheckType): type is ProbedType => 'probe' in type;

/** The settings of a type, which may stand behind the default of them all. */
function settingsIn({ schema }: CheckType): z.ZodObject {
  const { config } = schema.shape;
  return config instanceof z.ZodPrefault
    ? (config.unwrap() as z.ZodObject)
    : (config as z.ZodObject);
}

/** The types that the service comes with. */
export const shippedTypes = createCheckTypes(SHIPPED_TYPES);
