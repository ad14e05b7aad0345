import { testActions } from '../helpers/platform-contract/actions.ts';
import { testAnswers } from '../helpers/platform-contract/answers.ts';
import { testReading } from '../helpers/platform-contract/reading.ts';
import { openSlackWorld } from '../helpers/slack/slack-world.ts';

testAnswers(openSlackWorld);
testActions(openSlackWorld);
testReading(openSlackWorld);
