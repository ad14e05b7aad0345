import { type IncomingHttpHeaders, request } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { createParser } from 'eventsource-parser';
import { onTestFinished } from 'vitest';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import { createGuards } from '../../../src/console/login/guards.ts';
import { withEvent } from '../../../src/console/page/status/state.ts';
import { type StatusEvent, StatusReport } from '../../../src/console/status/api-types.ts';
import { addStatus, type StatusOptions } from '../../../src/console/status/status.ts';
import { createPublicAddress } from '../../../src/http/public-address.ts';
import { createServer } from '../../../src/http/server.ts';
import { recordingLog } from '../recording-log.ts';

/** The status page's part of the console on a real server, over the monitoring service at `url`. */
export async function startStatus(
  service: { url: string; apiKey: string },
  options: Partial<StatusOptions> = {},
): Promise<{ url: string; lines: Array<Record<string, unknown>> }> {
  const { log, lines } = recordingLog();
  const kit = await createServer({ log, version: '0.0.0' });
  let url = '';
  const status = addStatus(kit.server, createGuards({ statusPublic: options.isPublic ?? false }), {
    pollMs: 20,
    addressFor: createPublicAddress({
      ...{ publicUrl: undefined, isOpen: true },
      listening: () => url,
    }),
    isPublic: false,
    monitoring: () => createMonitoringClient({ baseUrl: service.url, apiKey: service.apiKey }),
    ...options,
    log,
  });
  url = await kit.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await status.close();
    await kit.close();
  });
  return { url, lines };
}

/** The report as programs fetch it. */
export async function reportAt(url: string): Promise<StatusReport> {
  const response = await fetch(`${url}/status.json`);
  if (!response.ok) throw new Error(`Status ${response.status}: ${await response.text()}`);
  return StatusReport.strict().parse(await response.json());
}

/** A reader of the event stream, with the report after all its events. */
export interface StatusReader {
  heard: StatusEvent[];
  /** Characters of all that was heard. */
  length: number;
  /** Throws before the first event. */
  report(): StatusReport;
  ended: boolean;
  close(): void;
}

/** Opens the event stream as the page does; resolves when the whole report has come. */
export async function readStatus(url: string): Promise<StatusReader> {
  const abort = new AbortController();
  let report: StatusReport | undefined;
  const reader: StatusReader = {
    heard: [],
    length: 0,
    report() {
      if (!report) throw new Error('Nothing was heard yet.');
      return report;
    },
    ended: false,
    close: () => abort.abort(),
  };
  onTestFinished(reader.close);
  const response = await fetch(`${url}/status/events`, { signal: abort.signal });
  if (!response.ok || !response.body) throw new Error(`Status ${response.status}`);
  await new Promise<void>((resolve) => {
    const parser = createParser({
      onEvent({ data }) {
        const event = JSON.parse(data) as StatusEvent;
        reader.heard.push(event);
        reader.length += data.length;
        report = withEvent(report, event);
        resolve();
      },
    });
    void feed(response.body as ReadableStream<Uint8Array>, (text) => parser.feed(text)).finally(
      () => {
        reader.ended = true;
        resolve();
      },
    );
  });
  return reader;
}

async function feed(body: ReadableStream<Uint8Array>, take: (text: string) => void) {
  const decoder = new TextDecoder();
  try {
    for await (const bytes of body) take(decoder.decode(bytes, { stream: true }));
  } catch {
    // The reader was closed or cut off; `ended` tells.
  }
}

/** An answer to a request with headers that `fetch` does not let anyone set. */
export function get(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers }, async (response) => {
      try {
        const text = await readText(response);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      } catch (error) {
        reject(error);
      }
    });
    asked.on('error', reject);
    asked.end();
  });
}

/** Reads the first event of the stream under the public name. */
export function firstEventAs(url: string, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/status/events`, { headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
        if (!/data: .*\n\n/.test(text)) return;
        response.destroy();
        resolve(text);
      });
      response.on('end', () => reject(new Error(`Only this was heard: ${text}`)));
    });
    asked.on('error', reject);
    asked.end();
  });
}
