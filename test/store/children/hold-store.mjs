// Opens the store in the folder named first, says so, and holds it until its input ends.
import { pino } from 'pino';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';

try {
  const store = await openLowdbStore({ folder: process.argv[2], log: pino({ level: 'silent' }) });
  console.log('open');
  process.stdin.resume();
  await new Promise((resolve) => process.stdin.once('end', resolve));
  await store.close();
  console.log('closed');
} catch (error) {
  console.log(`refused ${error.name}: ${error.message}`);
  process.exit(1);
}
