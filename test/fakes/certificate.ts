import { createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { isIPv4 } from 'node:net';

const DAY_MS = 86_400_000;

/** Contents of a certificate; by default valid for localhost and 127.0.0.1 for 90 days. */
export interface CertificateWishes {
  /** DNS names and IPv4 addresses; with none, the certificate has no list of them. */
  names?: string[];
  /** Common names of the subject. */
  commonNames?: string[];
  fromMs?: number;
  untilMs?: number;
}

/** An authority that lives as long as the test. */
export interface Authority {
  /** The certificate, PEM. */
  pem: string;
  /** Key and certificate of a server, PEM. */
  issue(wishes?: CertificateWishes): string;
  /** An authority below this one; what it issues comes with its own certificate. */
  below(name: string, wishes?: Pick<CertificateWishes, 'fromMs' | 'untilMs'>): Authority;
}

/** Makes certificates with Node alone. Source of the format: RFC 5280 §4.1, X.690 (DER). */
export function createAuthority(name = 'Test authority'): Authority {
  return authorityOf(name, (own) => own);
}

/** An authority; `above` are the certificates between it and its root, which servers send. */
function authorityOf(
  name: string,
  issuerFor: (own: Issuer) => Issuer,
  wishes: CertificateWishes = {},
  above?: string,
): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const own = { name, key: keys.privateKey };
  const issuer = issuerFor(own);
  const { publicKey } = keys;
  const pem = certificate({ subject: [name], publicKey, issuer, authority: true, ...wishes });
  const sent = issuer === own ? '' : `${pem}${above ?? ''}`;
  return {
    pem,
    issue: (wished) => `${withKey(wished, () => own)}${sent}`,
    below: (below, wished) => authorityOf(below, () => own, wished, sent),
  };
}

/** Key and certificate that nobody vouches for, PEM. */
export function selfSigned(wishes?: CertificateWishes): string {
  return withKey(wishes, (key) => ({ name: 'server', key }));
}

interface Issuer {
  name: string;
  key: KeyObject;
}

function withKey(
  wishes: CertificateWishes | undefined,
  issuerFor: (key: KeyObject) => Issuer,
): string {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = issuerFor(privateKey);
  const { commonNames = ['server'], ...others } = wishes ?? {};
  const pem = certificate({ subject: commonNames, publicKey, issuer, ...others });
  return `${privateKey.export({ type: 'pkcs8', format: 'pem' })}${pem}`;
}

function certificate(
  options: {
    subject: string[];
    publicKey: KeyObject;
    issuer: Issuer;
    authority?: boolean;
  } & Omit<CertificateWishes, 'commonNames'>,
): string {
  const { names = ['localhost', '127.0.0.1'], authority = false } = options;
  const { fromMs = Date.now() - 400 * DAY_MS, untilMs = Date.now() + 90 * DAY_MS } = options;
  const extension = authority
    ? sequence(oid('551d13'), der(0x04, sequence(der(0x01, Buffer.from([0xff])))))
    : sequence(oid('551d11'), der(0x04, sequence(...names.map(alternativeName))));
  const body = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    distinguishedName([options.issuer.name]),
    sequence(time(fromMs), time(untilMs)),
    distinguishedName(options.subject),
    options.publicKey.export({ type: 'spki', format: 'der' }),
    ...(authority || names.length > 0 ? [der(0xa3, sequence(extension))] : []),
  );
  const signature = createSign('sha256').update(body).sign(options.issuer.key);
  const whole = sequence(body, ECDSA_WITH_SHA256, der(0x03, Buffer.from([0]), signature));
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
const integer = (bytes: Buffer) => der(0x02, bytes);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));

/** Only common names. */
const distinguishedName = (names: string[]) =>
  sequence(
    ...names.map((name) => der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(name))))),
  );

const alternativeName = (name: string) =>
  isIPv4(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name));

/** UTCTime, until 2049. */
const time = (ms: number) =>
  der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14)}Z`));
