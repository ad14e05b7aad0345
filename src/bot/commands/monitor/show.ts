import type { Monitor } from '../../../contracts/monitoring.ts';
import { stateInWords } from '../../alerts/alert-titles.ts';
import { type Card, type Fact, factsPart, textPart } from '../../shared/card.ts';
import { toEveryone } from '../../shared/invocation.ts';
import { checkWords, isPaused, NO_PING_YET } from '../../shared/status.ts';
import { shownTarget } from '../../shared/target-link.ts';
import { inWords } from '../../shared/text-format.ts';
import { findMonitor } from '../../tools/monitors.ts';
import { resumeAction, WHILE_PAUSED } from '../../tools/pause-monitor.ts';
import { command } from '../command.ts';
import { parentNames } from './depends.ts';
import { type History, historyOf } from './history.ts';
import { listTone } from './list.ts';
import { monitorInput } from './manage.ts';
import { pingHelp } from './push-address.ts';

/** `/monitor show`: one monitor, with whatever the service tells of it. */
export const monitorShow = command({
  name: 'monitor show',
  summary: 'One monitor: its status, since when and why, uptime, response times, last outages',
  right: 'anyone',
  input: monitorInput,
  examples: ['/monitor show shop'],
  wholeLine: true,
  async run({ monitor }, call) {
    const all = await call.monitoring.list();
    const found = findMonitor(all, monitor);
    return toEveryone(monitorCard(found, parentNames(found, all), await historyOf(found, call)));
  },
});

function monitorCard(monitor: Monitor, parents: string, { facts, parts }: History): Card {
  const help = pingHelp(monitor);
  const paused = isPaused(monitor);
  const actions = [...(paused ? resumeAction(monitor) : []), ...help.actions];
  const { name, target, check_type, interval_seconds, id } = monitor;
  return {
    tone: listTone([monitor]),
    title: `${name} is ${stateInWords(monitor.status)}`,
    parts: [
      ...(paused ? [textPart(WHILE_PAUSED)] : []),
      factsPart(
        { label: 'Target', value: shownTarget(target) },
        { label: 'Kind', value: check_type },
        ...moment('Since', monitor.status_changed_at),
        ...(monitor.status_reason ? [{ label: 'Cause', value: monitor.status_reason }] : []),
        // 0 where the service tells none.
        ...(interval_seconds > 0
          ? [{ label: checkWords(monitor).every, value: inWords(interval_seconds * 1000) }]
          : []),
        ...moment(checkWords(monitor).last, monitor.last_checked_at),
        ...(monitor.waiting_for_first_ping
          ? [{ label: checkWords(monitor).last, value: `none yet, ${NO_PING_YET}` }]
          : []),
        ...(facts.some(({ label }) => label === 'Response time') ? [] : lastResponse(monitor)),
        ...facts,
        ...(parents === '' ? [] : [{ label: 'Depends on', value: parents }]),
        { label: 'Id', value: id },
      ),
      ...parts,
      ...help.parts,
    ],
    ...(actions.length > 0 && { actions }),
  };
}

function lastResponse({ response_time_ms: ms }: Monitor): Fact[] {
  return typeof ms === 'number' ? [{ label: 'Response time', value: `${Math.round(ms)} ms` }] : [];
}

function moment(label: string, time: string | null | undefined): Fact[] {
  return time ? [{ label, value: { atMs: Date.parse(time) } }] : [];
}
