import { onTestFinished } from 'vitest';
import { addIntakeRoutes } from '../../../src/app/features/intake-routes.ts';
import { intakeOf } from '../../../src/bot/intake/intake.ts';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import type { Platform } from '../../../src/bot/platform.ts';
import type { Place } from '../../../src/bot/shared/place.ts';
import type { IntakeKind } from '../../../src/contracts/intake-kinds.ts';
import type { Store } from '../../../src/store/store.ts';
import { createScriptedPlatform } from '../bot/scripted-platform.ts';
import { startTestBot, type TestBotOptions } from '../bot.ts';
import { post, runningServer } from '../http/running-server.ts';
import { recordingLog } from '../recording-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';

export const OPS: Place = { platform: 'slack', channel: 'C1' };

/** A real bot with one platform and real routes over real HTTP, and an intake of a channel. */
export async function openIntakeServer(
  options: Omit<TestBotOptions, 'store' | 'intakes'> & {
    kind?: IntakeKind;
    platforms?: readonly Platform[];
    /** Wraps the store, so that a test can make it fail. */
    over?: (store: Store) => Store;
    trustedProxies?: readonly string[];
  } = {},
) {
  const { kind = 'alertmanager', platforms, over = (store) => store, trustedProxies } = options;
  const folder = options.folder ?? (await temporaryFolder());
  const { log } = recordingLog();
  const own = await openTestStore({ folder, log });
  const store = over(own);
  const intakes = await createIntakes(store);
  const { intake, token } = await intakes.add(OPS, { kind, name: 'Production', by: 'Amy' });
  const running = await startTestBot({ ...options, store, intakes });
  const slack = createScriptedPlatform('slack');
  await running.bot.start(platforms ?? [slack]);
  const receiver = intakeOf(running.bot).intake;
  const server = await runningServer((kit) => addIntakeRoutes(kit, () => receiver), {
    trustedProxies,
  });
  async function stop() {
    await running.stop();
    await own.close();
  }
  onTestFinished(stop);
  return {
    ...{ ...running, folder, store, intakes, intake, receiver, token, slack, stop },
    ...{ ask: server.ask, sendRaw: server.sendRaw, url: server.url, httpLines: server.lines },
    /** Delivers to the path of the intake. */
    deliver: (body: unknown, path = `/hooks/${kind}/${token}`) => server.ask(path, post(body)),
  };
}

/** A delivery of an Alertmanager with these alerts. */
export function delivery(
  alerts: ReadonlyArray<{ name: string; status?: 'firing' | 'resolved'; startsAt?: string }>,
  more: Record<string, unknown> = {},
) {
  return {
    ...{
      version: '4',
      groupKey: '{}',
      status: 'firing',
      receiver: 'web\\.hook',
      truncatedAlerts: 0,
    },
    ...{ groupLabels: {}, commonLabels: {}, commonAnnotations: {}, externalURL: 'http://am:9093' },
    alerts: alerts.map(({ name, status = 'firing', startsAt = '2026-11-22T14:02:11.123Z' }) => ({
      ...{ status, startsAt, endsAt: '0001-01-01T00:00:00Z', fingerprint: name },
      labels: { alertname: name, severity: 'critical' },
      annotations: { summary: `${name} is wrong` },
      generatorURL: 'http://prometheus:9090/graph',
    })),
    ...more,
  };
}
