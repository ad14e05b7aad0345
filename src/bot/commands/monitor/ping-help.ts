import type { Monitor } from '../../../contracts/monitoring.ts';
import { type CardAction, type CardPart, isCarried, textPart } from '../../shared/card.ts';

/** The command of the button that leads to a new push address. */
export const NEW_PUSH_ADDRESS = 'monitor push address';

/** How a job reports itself, with an address that is shown this once. Pure. */
export const pushParts = (pushUrl: string): CardPart[] => [
  textPart(
    'Let the job ask for this address when it has run. It is shown this once; whoever has it can report the job as alive.',
  ),
  { kind: 'code', text: `curl -X POST ${pushUrl}` },
];

/** How a job reports itself, for who has its address or may have another; nothing for what is no job of ours. Pure. */
export function pingHelp(monitor: Monitor): { parts: CardPart[]; actions: CardAction[] } {
  // A service of the contract alone counts no changes.
  if (monitor.check_type !== 'HEARTBEAT' || monitor.status_changes === undefined) {
    return { parts: [], actions: [] };
  }
  const action = {
    label: 'New push address',
    command: NEW_PUSH_ADDRESS,
    values: { monitor: monitor.id },
  };
  const lost = isCarried(action)
    ? ' If it is lost, those who may manage monitors make a new one with the button.'
    : '';
  return {
    parts: [
      textPart(
        `Its job asks for its push address when it has run: curl -fsS <push address>. With /start at the end it says that it begins, with /fail or its exit code how it ended.${lost}`,
      ),
    ],
    actions: lost === '' ? [] : [action],
  };
}
