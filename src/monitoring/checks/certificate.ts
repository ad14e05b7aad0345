import { X509Certificate } from 'node:crypto';
import tls from 'node:tls';
import { DAY_MS, HOUR_MS } from '../time/clock.ts';
import type { CheckContext } from './check-context.ts';
import { CheckFailure, type Degradation, inQuotes } from './check-result.ts';

/** Notes the end of a certificate; the earliest end of several is kept. */
export function noteCertificate(
  certificate: X509Certificate | undefined,
  context: CheckContext,
): void {
  const endsMs = Date.parse(certificate?.validTo ?? '');
  if (Number.isNaN(endsMs)) return;
  context.certificateEndsMs = Math.min(endsMs, context.certificateEndsMs ?? endsMs);
}

/** Certificates of a chain that are examined; valid chains have two to four. */
const MAX_CHAIN = 10;

/** Subjects of certificates, PEM. */
export function subjectsOf(certificates: string | readonly string[]): ReadonlySet<string> {
  return new Set([certificates].flat().map((pem) => new X509Certificate(pem).subject));
}

/**
 * Notes the earliest end in a chain of certificates. Leaves out the root, and everything after the first certificate with a trusted
 * issuer (`trusted`, subjects): clients don't need it, and servers may send a cross-signed root whose certificate has expired.
 */
export function noteChain(
  certificate: X509Certificate | undefined,
  context: CheckContext,
  trusted: ReadonlySet<string>,
): void {
  for (const one of certificate ? pathFrom(certificate) : []) {
    const before = context.certificateEndsMs;
    noteCertificate(one, context);
    if (one !== certificate && context.certificateEndsMs !== before) {
      context.endsFirst = `the intermediate certificate ${nameOf(one)}`;
    }
    if (trusted.has(one.issuer)) break;
  }
}

/** A certificate and the sent ones between it and its root. */
function* pathFrom(certificate: X509Certificate): Generator<X509Certificate> {
  yield certificate;
  const sent: X509Certificate[] = [];
  // Node links certificates in the order in which they were sent, which need not be the chain's.
  for (let one = certificate.issuerCertificate; one && sent.length < MAX_CHAIN; ) {
    sent.push(one);
    one = one.issuerCertificate;
  }
  const path = new Set([certificate]);
  for (let last = certificate; path.size < MAX_CHAIN; ) {
    const issuer = sent.find((one) => !path.has(one) && last.checkIssued(one));
    if (issuer === undefined || issuer.subject === issuer.issuer) return;
    path.add(issuer);
    yield issuer;
    last = issuer;
  }
}

/** The common name of its subject, else the last part; OpenSSL escapes some characters. */
function nameOf({ subject }: X509Certificate): string {
  const parts = subject.split('\n');
  const part = parts.find((one) => one.startsWith('CN=')) ?? parts.at(-1) ?? '';
  return inQuotes(part.replace(/^\w+=/, '').replace(/\\(.)/g, '$1'));
}

/** Compares a certificate with a host, as Node does: by its alternative names, or by its common name if it has none. */
export function isCertificateFor(certificate: X509Certificate, host: string): boolean {
  const accepts = (parts: object) =>
    tls.checkServerIdentity(host, parts as tls.PeerCertificate) === undefined;
  // The whole certificate is parsed only if the alternative names don't match.
  return (
    accepts({ subjectaltname: certificate.subjectAltName }) || accepts(certificate.toLegacyObject())
  );
}

/** The failure for a certificate that isn't trusted, by the code of the failed verification. */
export function certificateFailure(
  certificate: X509Certificate | undefined,
  code: string,
): CheckFailure {
  const say = (reason: string) => new CheckFailure('tls', reason);
  if (certificate === undefined) return say('the server sent no certificate');
  const { validFrom, validTo } = certificate;
  // An expired certificate is named first, because its owner must act on it.
  if (Date.parse(validTo) < Date.now()) {
    return say(`the certificate expired on ${day(Date.parse(validTo))}`);
  }
  switch (code) {
    case 'CERT_HAS_EXPIRED': {
      const ended = [...pathFrom(certificate)].find((one) => Date.parse(one.validTo) < Date.now());
      if (ended === undefined) return say(`a certificate in its chain has expired (${code})`);
      const when = day(Date.parse(ended.validTo));
      return say(`the intermediate certificate ${nameOf(ended)} expired on ${when}`);
    }
    case 'CERT_NOT_YET_VALID':
      return say(`the certificate is not valid before ${day(Date.parse(validFrom))}`);
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return say('the certificate is self-signed');
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return say('the certificate is for another name');
    case 'CERT_SIGNATURE_FAILURE':
      return say(`the certificate is not signed by its issuer (${code})`);
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return say(
        `the certificate's issuer is unknown, or an intermediate certificate is missing (${code})`,
      );
    default:
      return say(`the certificate is not trusted (${code})`);
  }
}

export function expiring(
  config: { ignore_tls: boolean; tls_expiry_days: number },
  { certificateEndsMs }: CheckContext,
): { outcome: Degradation; reason: string } | undefined {
  // A monitor that accepts any certificate also accepts an expired one.
  if (config.ignore_tls || certificateEndsMs === undefined) return undefined;
  const reason = expiryWarning(certificateEndsMs, config.tls_expiry_days, Date.now());
  return reason === undefined ? undefined : { outcome: 'expiring', reason };
}

/** The warning about a certificate that ends soon, such as `the certificate expires in 3 days, on 2026-11-24`; else `undefined`. */
export function expiryWarning(
  endsMs: number,
  days: number,
  nowMs: number,
  which = 'the certificate',
): string | undefined {
  const leftMs = endsMs - nowMs;
  if (days === 0 || leftMs > days * DAY_MS) return undefined;
  return `${which} expires in ${timeLeft(leftMs)}, on ${day(endsMs)}`;
}

function timeLeft(leftMs: number): string {
  const days = Math.round(leftMs / DAY_MS);
  if (days > 1) return `${days} days`;
  const hours = Math.round(leftMs / HOUR_MS);
  if (hours > 1) return `${hours} hours`;
  return 'about an hour';
}

/** A day such as `2026-11-24`. A certificate can hold a time that is none. */
export const day = (ms: number) =>
  Number.isNaN(ms) ? 'an unknown date' : new Date(ms).toISOString().slice(0, 10);
