import { shortened } from '../bot/shared/text-format.ts';
import { withinBytes } from '../contracts/within-bytes.ts';
import type { WebhookEvent } from './event.ts';

/** A post of an event: where to, and its JSON. `undefined` if the receiver has no use for the event. */
export type WebhookShape = (
  event: WebhookEvent,
  address: URL,
) => { url: URL; body: object } | undefined;

/** An address chooses its shape by its fragment, or else by its host. Pure. */
export const shapeFor = ({ hash, hostname }: URL): WebhookShape =>
  SHAPES.get(hash.slice(1)) ?? SHAPES.get(serviceAt(hostname)) ?? generic;

/** Only these posts are signed, because the others have receivers that can't check it. */
export const isGeneric = (address: URL) => shapeFor(address) === generic;

/** Reasons why an address can't receive anything, as a sentence; `undefined` if it can. Pure. */
export function addressProblem(address: URL): string | undefined {
  const { hash, searchParams, pathname } = address;
  const shape = shapeFor(address);
  if (hash !== '' && !SHAPES.has(hash.slice(1))) {
    return `A webhook address can end with ${[...SHAPES.keys()]
      .map((name) => `#${name}`)
      .join(', ')}, not with another part after #.`;
  }
  if (shape === pagerDuty && !searchParams.get('routing_key')) {
    return 'Add the integration key of your PagerDuty service: https://events.pagerduty.com/v2/enqueue?routing_key=0123456789abcdef0123456789abcdef';
  }
  if (shape === ntfy && !TOPIC.test(topicOf(pathname))) {
    return 'Add the topic to the address of ntfy, such as https://ntfy.sh/shop-alerts. It has 1 to 64 letters, digits, - or _.';
  }
  return undefined;
}

function serviceAt(hostname: string): string {
  if (/^events(\.eu)?\.pagerduty\.com$/.test(hostname)) return 'pagerduty';
  if (hostname === 'ntfy.sh') return 'ntfy';
  return TEAMS_HOSTS.test(hostname) ? 'teams' : '';
}

/** Hosts of Workflows, and of the connectors before them. Source: Microsoft Learn, "Create and send messages" (Teams). */
const TEAMS_HOSTS =
  /\.(?:logic\.azure\.(?:com|us)|webhook\.office\.com|powerplatform\.com|powerautomate\.com)$/;

const generic: WebhookShape = (event, address) => ({ url: withoutFragment(address), body: event });

/** Source: PagerDuty developer docs, "Send an Alert Event": lengths, required fields and values. */
const PAGERDUTY = { summary: 1024, dedupKey: 255 };

const pagerDuty: WebhookShape = (event, address) => {
  const action =
    PAGERDUTY_ACTIONS[event.event] ?? (event.severity === 'info' ? 'resolve' : 'trigger');
  // PagerDuty reminds people itself.
  if (event.event === 'reminder') return undefined;
  const url = withoutFragment(address);
  url.searchParams.delete('routing_key');
  const [first] = event.monitors;
  const details = Object.fromEntries(event.facts.map(({ label, value }) => [label, value]));
  return {
    url,
    body: {
      routing_key: address.searchParams.get('routing_key'),
      event_action: action,
      dedup_key: shortened(`askwatch-${event.id}`, PAGERDUTY.dedupKey),
      ...(action === 'trigger' && {
        client: 'Askwatch',
        ...(event.url !== undefined && { links: [{ href: event.url, text: 'Open' }] }),
        payload: {
          summary: shortened(event.title, PAGERDUTY.summary),
          source: first?.target ?? first?.name ?? 'Askwatch',
          severity: event.severity,
          timestamp: first?.since ?? event.at,
          custom_details: { ...details, text: event.text },
        },
      }),
    },
  };
};

/** A notice is open as long as it warns. A test post resolves an alert that doesn't exist, which pages nobody. */
const PAGERDUTY_ACTIONS: Partial<Record<WebhookEvent['event'], string>> = {
  opened: 'trigger',
  updated: 'trigger',
  acknowledged: 'acknowledge',
  resolved: 'resolve',
};

/** Source: ntfy docs, "Publish as JSON"; server/server.go, `topicRegex` and `DefaultMessageSizeLimit`. */
const TOPIC = /^[-_A-Za-z0-9]{1,64}$/;
const NTFY = { messageBytes: 3500, title: 250 };

const topicOf = (pathname: string) => pathname.split('/').findLast((part) => part !== '') ?? '';

/** 3 is the default, 4 and 5 are louder, 2 makes no sound. Source: ntfy docs, "Message priority". */
const NTFY_PRIORITIES = { critical: 5, warning: 4, info: 3 } as const;

const ntfy: WebhookShape = (event, address) => {
  if (isDetail(event)) return undefined;
  const url = withoutFragment(address);
  const topic = topicOf(url.pathname);
  url.pathname = url.pathname.replace(/[^/]+\/*$/, '');
  const isOver = event.event === 'resolved';
  const isQuiet = event.event === 'updated' || event.event === 'acknowledged';
  return {
    url,
    body: {
      topic,
      title: shortened(event.title, NTFY.title),
      message: withinBytes(event.text, NTFY.messageBytes) || event.title,
      priority: isQuiet ? 2 : NTFY_PRIORITIES[isOver ? 'info' : event.severity],
      tags: [isOver ? 'white_check_mark' : NTFY_TAGS[event.severity]],
      // Apps replace the notification of an earlier event. Servers before 2.16 ignore it.
      sequence_id: event.id.replace(/[^-_A-Za-z0-9]/g, '-').slice(0, 64),
      ...(event.url !== undefined && { click: event.url }),
    },
  };
};

const NTFY_TAGS = {
  critical: 'rotating_light',
  warning: 'warning',
  info: 'information_source',
} as const;

/** Source: Microsoft Learn, Teams connector, known limits: a message has about 28 KB. */
const TEAMS_LINES = 30;

const TEAMS_COLORS = { critical: 'Attention', warning: 'Warning', info: 'Default' } as const;

/** Source: Microsoft Learn, Teams connector, "Request body schema"; adaptivecards.io, schema of version 1.2. */
const teams: WebhookShape = (event, address) => {
  if (isDetail(event)) return undefined;
  const color = event.event === 'resolved' ? 'Good' : TEAMS_COLORS[event.severity];
  const block = (text: string) => ({ type: 'TextBlock', text: inert(text), wrap: true });
  const lines = event.text.split('\n').filter((line) => line.trim() !== '');
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [
      { ...block(event.title), weight: 'Bolder', size: 'Medium', color },
      ...lines.slice(0, TEAMS_LINES).map((line) => ({ ...block(line), spacing: 'Small' })),
    ],
    ...(event.url !== undefined && {
      actions: [{ type: 'Action.OpenUrl', title: 'Open', url: event.url }],
    }),
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return {
    url: withoutFragment(address),
    body: { type: 'message', attachments: [{ contentType, contentUrl: null, content }] },
  };
};

/** Text blocks read Markdown links and styles. Source: Microsoft Learn, "Text features" of Adaptive Cards. */
const inert = (text: string) => text.replace(/[\\`*_[\]()#~<>]/g, '\\$&');

const SHAPES = new Map(Object.entries({ json: generic, pagerduty: pagerDuty, ntfy, teams }));

/** Receivers for people show a new message for each event, so one monitor has one when it begins and one when it ends. */
const isDetail = ({ event, monitors }: WebhookEvent) =>
  (event === 'updated' || event === 'acknowledged') && monitors.length < 2;

function withoutFragment(address: URL): URL {
  const url = new URL(address);
  url.hash = '';
  return url;
}
