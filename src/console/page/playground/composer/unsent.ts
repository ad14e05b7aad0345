import { createLiveState } from '../../shared/live-state.ts';
import { keep, readKept } from '../../shared/storage.ts';
import type { ChatPlace } from '../requests.ts';
import type { AttachedFile } from './attached-files.tsx';

export interface UnsentLine {
  text: string;
  files: AttachedFile[];
  problem: string;
}

const KEY = 'unsent lines';

/** By place. The composer of the place shows its line, also after a visit to another channel or to the login. */
export const unsentLines = createLiveState<Record<string, UnsentLine | undefined>>(
  JSON.parse(readKept('sessionStorage', KEY) || '{}'),
);

export const keyOfPlace = ({ channel, thread = '' }: ChatPlace) => `${channel}/${thread}`;

/** Keeps a line, or forgets the one that is kept. */
export function keepUnsent(place: string, line: UnsentLine | undefined): void {
  if (!line && !unsentLines.state()[place]) return;
  unsentLines.set({ ...unsentLines.state(), [place]: line });
  keep('sessionStorage', KEY, JSON.stringify(unsentLines.state()));
}
