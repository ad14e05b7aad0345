import type { Monitor } from '../../../contracts/monitoring.ts';
import { stateInWords } from '../../alerts/alert-titles.ts';
import {
  type Card,
  type CardPart,
  compact,
  type Fact,
  factsPart,
  textPart,
} from '../../shared/card.ts';
import { toEveryone } from '../../shared/invocation.ts';
import { checkWords, isPaused, NO_PING_YET } from '../../shared/status.ts';
import { runbookFacts, shownTarget } from '../../shared/target-link.ts';
import { inWords } from '../../shared/text-format.ts';
import { findMonitor } from '../../tools/monitors.ts';
import { resumeAction, WHILE_PAUSED } from '../../tools/pause-monitor.ts';
import { command } from '../command.ts';
import { changeAction } from './change.ts';
import { parentNames } from './depends.ts';
import { historyOf, type ShownHistory } from './history.ts';
import { listTone } from './list.ts';
import { monitorInput } from './manage.ts';
import { pingHelp } from './push-address.ts';

export const monitorShow = command({
  name: 'monitor show',
  summary: 'One monitor: its status, since when and why, uptime, response times, last outages',
  group: 'watch',
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

function monitorCard(monitor: Monitor, parents: string, history: ShownHistory): Card {
  const { facts, parts, runbook = monitor.runbook } = history;
  const isShortened = runbook !== monitor.runbook;
  const help = pingHelp(monitor);
  const paused = isPaused(monitor);
  const { name, target, check_type, interval_seconds, id } = monitor;
  const { every, last } = checkWords(monitor);
  const hasTimes = facts.some(({ label }) => label === 'Response time');
  return {
    tone: listTone([monitor]),
    title: `${name} is ${stateInWords(monitor.status)}`,
    parts: compact<CardPart>(
      paused && textPart(WHILE_PAUSED),
      factsPart(
        { label: 'Target', value: shownTarget(target) },
        { label: 'Kind', value: check_type },
        moment('Since', monitor.status_changed_at),
        fact('Cause', monitor.status_reason),
        // The service may send 0 for none.
        interval_seconds > 0 && { label: every, value: inWords(interval_seconds * 1000) },
        moment(last, monitor.last_checked_at),
        monitor.waiting_for_first_ping && { label: last, value: `none yet, ${NO_PING_YET}` },
        !hasTimes && lastResponse(monitor),
        ...facts,
        fact('Depends on', parents),
        fact('Tags', monitor.tags?.join(', ')),
        ...(isShortened ? [] : runbookFacts(runbook)),
        { label: 'Id', value: id },
      ),
      ...parts,
      isShortened && textPart(`Runbook:\n${runbook}`),
      ...help.parts,
    ),
    actions: [
      ...(paused ? resumeAction(monitor) : []),
      // Only its file can change it.
      ...(monitor.managed_by ? [] : changeAction(monitor)),
      ...help.actions,
    ],
  };
}

const fact = (label: string, value: string | undefined): Fact | undefined =>
  value ? { label, value } : undefined;

const lastResponse = ({ response_time_ms: ms }: Monitor): Fact | undefined =>
  typeof ms === 'number' ? { label: 'Response time', value: `${Math.round(ms)} ms` } : undefined;

const moment = (label: string, time: string | null | undefined): Fact | undefined =>
  time ? { label, value: { atMs: Date.parse(time) } } : undefined;
