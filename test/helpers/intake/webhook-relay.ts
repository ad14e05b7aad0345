import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

const Delivery = z.object({
  alerts: z.array(
    z.object({
      status: z.enum(['firing', 'resolved']),
      labels: z.record(z.string(), z.string()),
      startsAt: z.string(),
    }),
  ),
});

/** The latest state of an alert that Askwatch acknowledged. */
interface Acknowledged {
  status: 'firing' | 'resolved';
  startsAtMs: number;
}

/** Deliveries kept, so that one of them can be repeated late. */
const MAX_KEPT = 50;

/**
 * Stands between a sender and Askwatch, which may be gone at any moment: passes on what comes, and its answer, and knows which alerts
 * Askwatch has acknowledged. As a second Alertmanager of a cluster does, it says some of it once more when it is no longer so.
 */
export async function startWebhookRelay(askwatchUrl: () => string, random: () => number) {
  const acknowledged = new Map<string, Acknowledged>();
  const counts = { passed: 0, acknowledged: 0, refused: 0, unanswered: 0, late: 0, alerts: 0 };
  const kept: Array<{ path: string; body: string }> = [];
  /** Answers that are neither 2xx nor a sign that Askwatch is down or busy. */
  const strange: string[] = [];

  function note(body: string) {
    for (const { status, labels, startsAt } of Delivery.parse(JSON.parse(body)).alerts) {
      counts.alerts += 1;
      const startsAtMs = Date.parse(startsAt);
      const before = acknowledged.get(labels.alertname ?? '');
      if (before && before.startsAtMs > startsAtMs) continue;
      acknowledged.set(labels.alertname ?? '', { status, startsAtMs });
    }
  }

  /** Says again what was said before. */
  function sayLate() {
    const late = kept[Math.floor(random() * kept.length)];
    if (!late || random() > 0.3) return;
    const headers = { 'content-type': 'application/json' };
    const sent = request(new URL(late.path, askwatchUrl()), { method: 'POST', headers });
    // Askwatch may be gone, and nobody waits for it.
    sent.once('error', () => {});
    sent.once('response', (came) => {
      came.resume();
      counts.late += 1;
    });
    sent.end(late.body);
  }

  const server = createServer(async (incoming, answer) => {
    const body = await text(incoming);
    counts.passed += 1;
    sayLate();
    kept.push({ path: incoming.url ?? '/', body });
    if (kept.length > MAX_KEPT) kept.shift();
    const onward = request(new URL(incoming.url ?? '/', askwatchUrl()), {
      method: 'POST',
      headers: { ...incoming.headers, 'content-length': Buffer.byteLength(body) },
    });
    const lose = () => {
      counts.unanswered += 1;
      answer.destroy();
    };
    onward.once('error', lose);
    onward.once('response', async (came) => {
      const said = await text(came).catch(() => undefined);
      if (said === undefined) return lose();
      const status = came.statusCode ?? 0;
      if (status >= 200 && status < 300) {
        counts.acknowledged += 1;
        note(body);
      } else {
        counts.refused += 1;
        if (status !== 503) strange.push(`${status}: ${said}`);
      }
      answer.writeHead(status, { 'content-type': came.headers['content-type'] ?? 'text/plain' });
      answer.end(said);
    });
    onward.end(body);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, acknowledged, counts, strange };
}
