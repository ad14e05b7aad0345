import type { X509Certificate } from 'node:crypto';
import tls from 'node:tls';
import { DAY_MS, HOUR_MS } from '../time/clock.ts';
import type { CheckContext } from './check-context.ts';
import { CheckFailure, type Degradation } from './check-result.ts';

/** Keeps when a certificate ends that was shown; of several, the first to end. */
export function noteCertificate(
  certificate: X509Certificate | undefined,
  context: CheckContext,
): void {
  const endsMs = Date.parse(certificate?.validTo ?? '');
  if (Number.isNaN(endsMs)) return;
  context.certificateEndsMs = Math.min(endsMs, context.certificateEndsMs ?? endsMs);
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
  if (certificate === undefined) return say('the server shows no certificate');
  const { validFrom, validTo } = certificate;
  // Said first whatever else is wrong: it is what the owner has to act on.
  if (Date.parse(validTo) < Date.now()) {
    return say(`the certificate expired on ${day(Date.parse(validTo))}`);
  }
  switch (code) {
    case 'CERT_NOT_YET_VALID':
      return say(`the certificate is valid only from ${day(Date.parse(validFrom))}`);
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
      return say(`the certificate is from an unknown issuer, or one between is not sent (${code})`);
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
export function expiryWarning(endsMs: number, days: number, nowMs: number): string | undefined {
  const leftMs = endsMs - nowMs;
  if (days === 0 || leftMs > days * DAY_MS) return undefined;
  return `the certificate expires in ${timeLeft(leftMs)}, on ${day(endsMs)}`;
}

function timeLeft(leftMs: number): string {
  const days = Math.round(leftMs / DAY_MS);
  if (days > 1) return `${days} days`;
  const hours = Math.round(leftMs / HOUR_MS);
  if (hours > 1) return `${hours} hours`;
  return 'about an hour';
}

/** A certificate can hold a time that is none. */
const day = (ms: number) =>
  Number.isNaN(ms) ? 'an unknown day' : new Date(ms).toISOString().slice(0, 10);
