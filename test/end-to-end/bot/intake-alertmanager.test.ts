import { test } from 'vitest';
import { startSlack } from '../../fakes/slack/slack.ts';
import { alertmanagerStorm } from '../../helpers/intake/alertmanager-storm.ts';
import { hasAlertmanager } from '../../helpers/intake/real-alertmanager.ts';
import { hasBlackbox } from '../../helpers/intake/real-blackbox.ts';
import { long } from '../../helpers/long.ts';

/** A hundred alerts for ten minutes, or a few for half of one. */
const SIZE = long
  ? { teams: [25, ...Array<number>(15).fill(5)], lastsMs: 600_000, killEveryMs: 20_000 }
  : { teams: [4, 2, 2, 2], lastsMs: 24_000, killEveryMs: 12_000 };

test.skipIf(!hasAlertmanager || !hasBlackbox)(
  'killed with -9 again and again, it tells once and in order of what a real Alertmanager and blackbox_exporter report',
  { timeout: 1_800_000 },
  async () => {
    await alertmanagerStorm(await startSlack(), SIZE);
  },
);
