import { type Area, runMeasures } from '../shared/area.ts';
import { makeBed } from './bed.ts';
import { measureChanges, measureHeard } from './changes.ts';
import { measureLimit } from './counters.ts';
import { measureList } from './list.ts';
import { openServer } from './server.ts';
import { measureTakeover } from './takeover.ts';
import { measureResults, measureStates } from './writes.ts';

const MEASURES = {
  results: measureResults,
  states: measureStates,
  changes: measureChanges,
  limit: measureLimit,
  heard: measureHeard,
  list: measureList,
  takeover: measureTakeover,
};

/** The PostgreSQL engine beside equivalent bare statements, and several processes on one database. */
export const postgres: Area = {
  measures: Object.keys(MEASURES),
  async run(context) {
    const bed = makeBed(context, await openServer(context));
    try {
      return await runMeasures(context, MEASURES, bed);
    } finally {
      await bed.close();
    }
  },
};
