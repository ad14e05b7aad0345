// Bolt first: the first import decides which undici is the global one, and uploads must not depend on that.
import '@slack/bolt';
import { openDiscordWorld } from '../helpers/discord/discord-world.ts';
import { testActions } from '../helpers/platform-contract/actions.ts';
import { testAnswers } from '../helpers/platform-contract/answers.ts';
import { testReading } from '../helpers/platform-contract/reading.ts';

testAnswers(openDiscordWorld);
testActions(openDiscordWorld);
testReading(openDiscordWorld);
