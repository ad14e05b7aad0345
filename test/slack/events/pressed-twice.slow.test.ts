import {
  testEveryButton,
  testOrder,
  testSnoozeOfSeveral,
} from '../../helpers/platform-contract/every-button.ts';
import { openSlackWorld } from '../../helpers/slack/slack-world.ts';

testEveryButton(openSlackWorld);
testOrder(openSlackWorld);
testSnoozeOfSeveral(openSlackWorld);
