/**
 * Whether a status says UP or DOWN. The contract shows only `UP` and leaves the rest open, so any other text is neither;
 * letter case is not meaning.
 * Source: monitoring contract, "States and transitions".
 */
export const isUp = ({ status }: { status: string }) => status.toUpperCase() === 'UP';
export const isDown = ({ status }: { status: string }) => status.toUpperCase() === 'DOWN';

/** Whether it is a status that people set, to hear nothing. Our choice: the words of the embedded service. */
export const isSilenced = ({ status }: { status: string }) =>
  ['MAINTENANCE', 'PAUSED'].includes(status.toUpperCase());

/** What is said of a heartbeat whose job has said nothing yet. */
export const NO_PING_YET = 'waiting for its first ping';

/** What happens to a monitor at its interval: we check it, or its job pings us. */
export const lookWords = ({ check_type }: { check_type: string }) =>
  check_type === 'HEARTBEAT'
    ? { every: 'Pinged every', last: 'Last ping' }
    : { every: 'Checked every', last: 'Last check' };
