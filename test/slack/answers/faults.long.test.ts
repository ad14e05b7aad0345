import { test } from 'vitest';
import { goesOn, opensAgain, stopsTheModel } from '../../helpers/slack/fault-runs.ts';
import type { RunningSlack } from '../../helpers/slack/running-slack.ts';

test.each<[string, (running: RunningSlack) => void, RegExp]>([
  [
    'the app loses a scope',
    ({ fake }) => void fake.scopes.delete('chat:write'),
    /lacks the scope chat:write\. Add it under "OAuth & Permissions"/,
  ],
  ['the token is revoked', ({ fake }) => fake.revoke('bot'), /Install the app again/],
  [
    'an admin lets the bot change nothing more',
    ({ fake }) =>
      fake.fail(
        'chat.update',
        { kind: 'error', error: 'edit_window_closed' },
        { times: Number.POSITIVE_INFINITY },
      ),
    /does not allow changing messages/,
  ],
])('when %s, the model stops and the person is told what to do', stopsTheModel);

test.each(['warning', 'link_disabled', 'too_many_websockets'] as const)(
  'a connection that Slack ends with “%s” is opened again, also in mid-answer',
  opensAgain,
);

test.each([
  '[]',
  '17',
  '{"type":"events_api"}',
  '{"type":"events_api","envelope_id":"e","payload":{}}',
  '{"type":"app_rate_limited","payload":"app_rate_limited"}',
  '{"type":"slash_commands","envelope_id":"e"}',
])('a connection over which %s comes goes on', goesOn);
