import { answered, type CaseOfKind, down, failing } from '../case.ts';

const expired = (from: string) => down(from, 'tls', 'the certificate expired on 2026-11-26');

export const CERTIFICATES: readonly CaseOfKind[] = [
  {
    id: 'certificate-expired',
    startedAt: '11:50',
    monitors: [
      { name: 'Docs', certificateEnds: '11:49:30', periods: [expired('11:50')] },
      { name: 'Docs search', certificateEnds: '12-24 11:49' },
    ],
    found: {
      find_deployments: ['2026-11-26T11:20:00Z docs 5.1.0 by Ada'],
    },
    cause: 'The certificate of Docs expired at 11:49',
    nextStep: 'Renew the certificate of docs.example',
    right: [/certificate/i, /expired/i],
    shownBy: [/The certificate of Docs expired/, /certificate expired on 2026-11-26/],
    wrong: [/5\.1\.0/],
  },
  {
    id: 'certificate-mail',
    startedAt: '11:00',
    monitors: [
      {
        ...{ name: 'Mail submission', type: 'CERTIFICATE', target: 'mail.example:587' },
        config: { starttls: 'smtp' },
        certificateEnds: '10:31',
        periods: [expired('11:00')],
      },
      { name: 'Mail relay', type: 'TCP', target: 'mail.example:25' },
    ],
    notes: [{ by: 'Tom', text: 'The relay was restarted yesterday', at: '11:20' }],
    cause: 'The certificate of Mail submission expired at 10:31',
    nextStep: 'Renew the certificate and reload the mail server',
    right: [/certificate/i, /expired/i],
    shownBy: [/The certificate of Mail submission expired/],
    wrong: [/restart/i],
  },
  {
    id: 'certificate-of-a-client',
    startedAt: '11:31',
    monitors: [failing('Payment gateway', '11:31', 'status', answered('502 Bad Gateway'))],
    found: {
      search_logs: [
        '2026-11-26T11:30:12Z error service=payment-gateway msg="bank refused the handshake: client certificate expired 2026-11-26T11:30:00Z"',
      ],
      find_deployments: ['2026-11-25T16:00:00Z payment-gateway 9.4.1 by Kim'],
    },
    cause: 'The client certificate for the bank expired at 11:30',
    nextStep: 'Install the new client certificate',
    right: [/client certificate/i, /expired/i],
    shownBy: [/client certificate expired 2026-11-26T11:30:00Z/],
    wrong: [/9\.4\.1/],
  },
  {
    id: 'certificate-of-two-hosts',
    startedAt: '11:46',
    isGroup: true,
    monitors: [
      { name: 'Tickets', certificateEnds: '11:45', periods: [expired('11:46')] },
      { name: 'Tickets API', certificateEnds: '11:45', periods: [expired('11:46:20')] },
      { name: 'Tickets archive', certificateEnds: '12-20 09:00' },
    ],
    cause: 'The certificate of Tickets and Tickets API expired at 11:45',
    nextStep: 'Renew the certificate that both use',
    right: [/certificate/i, /expired/i],
    shownBy: [/The certificate of Tickets( API)? expired/, /certificate expired on 2026-11-26/],
  },
  {
    id: 'certificate-renewal-failed',
    startedAt: '11:41',
    monitors: [
      { name: 'Status page', certificateEnds: '11:40', periods: [expired('11:41')] },
      { name: 'Status feed' },
    ],
    alerts: [
      {
        name: 'CertificateNotReady status-page',
        from: '11-22 03:10',
        intake: 'cert-manager',
        reason: 'The ACME order failed: the answer at port 80 was 404.',
      },
    ],
    earlier: { from: '11-03 17:40', postmortem: 'A proxy sent answers that were not HTTP.' },
    cause:
      'The certificate of Status page expired at 11:40, as its renewal failed since 22 November',
    nextStep: 'Fix the ACME order: the answer at port 80 was 404',
    right: [/certificate/i, /expired|renew/i],
    shownBy: [/The certificate of Status page expired/, /CertificateNotReady status-page/],
    wrong: [/not HTTP/i],
  },
];
