import { openDiscordWorld } from '../../helpers/discord/discord-world.ts';
import {
  testEveryButton,
  testOrder,
  testSnoozeOfSeveral,
} from '../../helpers/platform-contract/every-button.ts';

testEveryButton(openDiscordWorld);
testOrder(openDiscordWorld);
testSnoozeOfSeveral(openDiscordWorld);
