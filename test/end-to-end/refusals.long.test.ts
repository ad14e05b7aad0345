import { expect, test } from 'vitest';
import { startDiscord } from '../fakes/discord/discord.ts';
import { startSlack } from '../fakes/slack/slack.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { discordEnv } from '../helpers/end-to-end/discord-program.ts';
import { failedStart } from '../helpers/end-to-end/plain-start.ts';
import { socketMode } from '../helpers/end-to-end/slack-program.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test.each([
  ['SLACK_BOT_TOKEN', 'xoxb-wrong-token-0000'],
  ['SLACK_APP_TOKEN', 'xapp-wrong-token-0000'],
  ['DISCORD_TOKEN', 'not.the.token'],
  ['DISCORD_MESSAGE_CONTENT', 'true'],
  ['DISCORD_GUILD_ID', '123456789012345678'],
])('%s=%s is refused by the platform and ends the start with one sentence', async (name, value) => {
  const env = name.startsWith('SLACK')
    ? socketMode(await startSlack())
    : discordEnv(await startDiscord());
  const { code, output } = await failedStart({ ...env, [name]: value });
  expect(code).toBe(1);
  expect(output.split('\n').filter((line) => line.includes(name))).toHaveLength(1);
  expect(output).not.toMatch(/xoxb-\w|xapp-\w/);
});

test('a token that is revoked while the program runs ends it for good, with one sentence and code 1', async () => {
  const slack = await startSlack();
  const askwatch = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: socketMode(slack),
  });
  slack.revoke('app');
  slack.disconnect();
  expect(await askwatch.exit).toBe(1);
  expect(askwatch.output()).toMatch(/^SLACK_APP_TOKEN: .*token_revoked/m);
});
