import { X509Certificate } from 'node:crypto';
import tls from 'node:tls';
import { DAY_MS, HOUR_MS } from '../time/clock.ts';
import type { CheckContext } from './check-context.ts';
import { CheckFailure, type Degradation, inQuotes } from './check-result.ts';

/** Keeps when a certificate ends that was shown; of several, the first to end. */
export function noteCertificate(
  certificate: X509Certificate | undefined,
  context: CheckContext,
): void {
  const endsMs = Date.parse(certificate?.validTo ?? '');
  if (Number.isNaN(endsMs)) return;
  context.certificateEndsMs = Math.min(endsMs, context.certificateEndsMs ?? endsMs);
}

/** Certificates of a chain that are looked at; of good ones there are two to four. */
const MAX_CHAIN = 10;

/** The names of those who issued certificates, PEM: the subjects of theirs. */
export function subjectsOf(certificates: string | readonly string[]): ReadonlySet<string> {
  return new Set([certificates].flat().map((pem) => new X509Certificate(pem).subject));
}

/**
 * Keeps when the first certificate ends of a chain, which need not be the server's own. The root is left out, and whatever
 * is sent beyond the first one whose issuer is trusted by itself (`trusted`, subjects): nobody needs it, and a root that an
 * older one has signed, too, may well be sent with a certificate that has ended.
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

/** A certificate and those between it and its root, as far as they were sent, in whatever order. */
function* pathFrom(certificate: X509Certificate): Generator<X509Certificate> {
  yield certificate;
  const sent: X509Certificate[] = [];
  // Node gives them in the order in which they came, whoever issued whom.
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

/** Of its subject the common name, else the last part; OpenSSL escapes some characters. */
function nameOf({ subject }: X509Certificate): string {
  const parts = subject.split('\n');
  const part = parts.find((one) => one.startsWith('CN=')) ?? parts.at(-1) ?? '';
  return inQuotes(part.replace(/^\w+=/, '').replace(/\\(.)/g, '$1'));
}

/**
 * Whether a certificate is for a host, a name or an address, as Node judges it: by its alternative names, or by its common
 * name when it has no names among these.
 */
export function isCertificateFor(certificate: X509Certificate, host: string): boolean {
  const accepts = (parts: object) =>
    tls.checkServerIdentity(host, parts as tls.PeerCertificate) === undefined;
  // What the alternative names allow no common name forbids; taken apart as a whole only when they do not.
  return (
    accepts({ subjectaltname: certificate.subjectAltName }) || accepts(certificate.toLegacyObject())
  );
}

/** Why a certificate is not to be trusted; `code` is that of the failed check. */
export function certificateFailure(
  certificate: X509Certificate | undefined,
  code: string,
): CheckFailure {
  const say = (reason: string) => new CheckFailure('tls', reason);
  if (certificate === undefined) return say('the server sent no certificate');
  const { validFrom, validTo } = certificate;
  // Said first whatever else is wrong: it is what the owner has to act on.
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

/** What is not as it should be about a check over TLS that passed: a certificate that ends soon. */
export function expiring(
  config: { ignore_tls: boolean; tls_expiry_days: number },
  { certificateEndsMs }: CheckContext,
): { outcome: Degradation; reason: string } | undefined {
  // Who takes any certificate also takes one that ends.
  if (config.ignore_tls || certificateEndsMs === undefined) return undefined;
  const reason = expiryWarning(certificateEndsMs, config.tls_expiry_days, Date.now());
  return reason === undefined ? undefined : { outcome: 'expiring', reason };
}

/** Says that a certificate ends soon, such as `the certificate expires in 3 days, on 2026-11-24`; else `undefined`. */
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
