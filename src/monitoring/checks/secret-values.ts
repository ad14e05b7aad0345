import {
  HIDDEN,
  isHidden,
  isSecretName,
  mapSecrets,
  maskedTarget,
} from '../../contracts/secret-values.ts';
import { invalidValue } from '../../http/errors.ts';
import type { CheckedMonitor, MonitorDefinition } from './check-type.ts';
import { hostPortOf } from './host-port.ts';

type HeaderValues = Readonly<Record<string, string>>;

/** A monitor that sends headers to a URL, or bytes to a port. All bytes count as secret, because a login among them isn't marked. */
type SendingMonitor = CheckedMonitor & {
  config: { headers?: HeaderValues; send?: string; tls?: boolean };
};

const isSending = (definition: MonitorDefinition): definition is SendingMonitor =>
  'headers' in definition.config || 'send' in definition.config;

export const shownTarget = (definition: MonitorDefinition): string =>
  isSending(definition) ? maskedTarget(definition.target) : definition.target;

/** Hides the secrets of a monitor, for people and for the store. Pure. */
export function withoutSecrets(definition: MonitorDefinition): MonitorDefinition {
  if (!isSending(definition)) return definition;
  const { config, target } = definition;
  return {
    ...definition,
    target: maskedTarget(target),
    config: {
      ...config,
      ...(config.headers && { headers: mapHeaders(config.headers) }),
      ...(config.send !== undefined && { send: HIDDEN }),
    },
  } as SendingMonitor;
}

export function secretsOf(definition: MonitorDefinition): string[] {
  return namesOf(definition, (value) => !isHidden(value));
}

/** Names of lost secrets: their key is gone, and only the placeholder remains. Pure. */
export function lostSecretsOf(definition: MonitorDefinition): string[] {
  return namesOf(definition, isHidden);
}

function namesOf(definition: MonitorDefinition, isMeant: (value: string) => boolean): string[] {
  if (!isSending(definition)) return [];
  const { headers = {}, send } = definition.config;
  const names: string[] = [];
  if (send !== undefined && isMeant(send)) names.push('config.send');
  for (const [name, value] of Object.entries(headers)) {
    if (isSecretName(name) && isMeant(value)) names.push(`config.headers.${name}`);
  }
  mapSecrets(definition.target, ({ name, value }) => {
    if (isMeant(value)) names.push(`${name} in the target`);
    return value;
  });
  return names;
}

/**
 * Replaces the placeholders of a sent monitor with the stored secrets. `keeps` says which settings were not sent and stay. Throws a 400
 * for a placeholder without a stored value, and for stored secrets that would go to another server: a caller may choose the target,
 * but must not learn the secrets by that.
 */
export function withStoredSecrets(
  sent: MonitorDefinition,
  before: MonitorDefinition | undefined,
  keeps: (setting: string) => boolean = () => false,
): MonitorDefinition {
  if (!isSending(sent)) return sent;
  const stored = before && isSending(before) ? before : undefined;
  const kept: string[] = [];
  const config = { ...sent.config };
  if (config.headers) {
    config.headers = headersWithStored(config.headers, stored?.config.headers ?? {}, (name) => {
      kept.push(`config.headers.${name}`);
    });
    if (keeps('headers')) kept.push(...secretHeadersOf(stored));
  }
  if (config.send === HIDDEN) {
    const known = stored?.config.send;
    if (known === undefined || known === HIDDEN) throw noneStored('config.send');
    config.send = known;
    kept.push('config.send');
  } else if (config.send !== undefined && keeps('send')) {
    kept.push('config.send');
  }
  const target = targetWithStored(sent.target, stored?.target, (name) => {
    kept.push(`${name} in the target`);
  });
  const meant = { ...sent, target, config } as SendingMonitor;
  if (stored && kept.length > 0 && leadsElsewhere(stored, meant)) throw notSentThere(kept);
  return meant;
}

const secretHeadersOf = (stored: SendingMonitor | undefined) =>
  Object.keys(stored?.config.headers ?? {})
    .filter(isSecretName)
    .map((name) => `config.headers.${name}`);

function headersWithStored(
  sent: HeaderValues,
  stored: HeaderValues,
  onKept: (name: string) => void,
): HeaderValues {
  const storedValues = new Map(
    Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const all = Object.entries(sent).map(([name, value]) => {
    if (value !== HIDDEN) return [name, value];
    const known = storedValues.get(name.toLowerCase());
    if (known === undefined || known === HIDDEN) throw noneStored(`config.headers.${name}`);
    onKept(name);
    return [name, known];
  });
  return Object.fromEntries(all);
}

/** If a name has several values, each placeholder means the stored value at the same position. */
function targetWithStored(
  sent: string,
  stored: string | undefined,
  onKept: (name: string) => void,
): string {
  const values = new Map<string, string[]>();
  mapSecrets(stored ?? '', ({ name, value }) => {
    values.set(name, [...(values.get(name) ?? []), value]);
    return value;
  });
  return mapSecrets(sent, ({ name, value }) => {
    const known = values.get(name)?.shift();
    if (!isHidden(value)) return value;
    if (known === undefined || isHidden(known)) throw noneStored('target', ` for ${name}`);
    onKept(name);
    return known;
  });
}

/** Admission reports a target that isn't an address. */
function leadsElsewhere(before: SendingMonitor, after: SendingMonitor): boolean {
  const [from, to] = [originOf(before), originOf(after)];
  return from !== undefined && to !== undefined && from !== to;
}

/** The server that receives the secrets, and the protocol, because plain text can be read on the way. */
function originOf({ target, config }: SendingMonitor): string | undefined {
  if (config.headers) return URL.canParse(target) ? new URL(target).origin : undefined;
  const at = hostPortOf(target);
  return at && `${config.tls ? 'tls' : 'tcp'}://${at.hostname}:${at.port}`;
}

function mapHeaders(headers: HeaderValues): HeaderValues {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, isSecretName(name) ? HIDDEN : value]),
  );
}

const noneStored = (param: string, what = '') =>
  invalidValue(
    param,
    `'${HIDDEN}' stands for a stored value, but none is stored${what}; send the value`,
  );

function notSentThere(kept: readonly string[]) {
  const names = [...new Set(kept)];
  return invalidValue(
    'target',
    `it points to another server, and stored secrets are not sent there: ${names.join(', ')}. ` +
      'Send them again in the same change, or remove them',
  );
}
