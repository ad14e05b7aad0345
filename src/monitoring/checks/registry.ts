import { z } from 'zod';
import { certificate } from './certificate-check.ts';
import type {
  CheckedMonitor,
  CheckTypeModule,
  MonitorDefinition,
  ProbedType,
} from './check-type.ts';
import { dns } from './dns.ts';
import { heartbeat } from './heartbeat.ts';
import { http } from './http.ts';
import { keyword } from './keyword.ts';
import { tcp } from './tcp.ts';

/** All types of check. A new type is a module like these, and a line here. */
export const SHIPPED_TYPES: readonly CheckTypeModule[] = [
  http,
  keyword,
  dns,
  tcp,
  certificate,
  heartbeat,
];

/** Types of check by their names in `check_type`. */
export interface CheckTypes {
  readonly schema: z.ZodType<MonitorDefinition>;
  readonly names: readonly string[];
  of(definition: Pick<MonitorDefinition, 'check_type'>): CheckTypeModule;
  ofChecked(definition: CheckedMonitor): ProbedType;
  settingsOf(definition: Pick<MonitorDefinition, 'check_type'>): ReadonlySet<string>;
  /** Default of a setting; `undefined` if it is required, or has none. */
  defaultOf(definition: MonitorDefinition, setting: string): unknown;
}

export function createCheckTypes(types: readonly CheckTypeModule[]): CheckTypes {
  const byName = new Map(types.map((type) => [type.schema.shape.check_type.value, type]));
  const [first, ...rest] = types.map(({ schema }) => schema);
  if (first === undefined) throw new TypeError('No check types were given.');
  function of({ check_type }: Pick<MonitorDefinition, 'check_type'>): CheckTypeModule {
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

const isProbed = (type: CheckTypeModule): type is ProbedType => 'probe' in type;

/** The settings of a type; all of them may have a default together. */
function settingsIn({ schema }: CheckTypeModule): z.ZodObject {
  const { config } = schema.shape;
  return config instanceof z.ZodPrefault
    ? (config.unwrap() as z.ZodObject)
    : (config as z.ZodObject);
}

export const shippedTypes = createCheckTypes(SHIPPED_TYPES);
