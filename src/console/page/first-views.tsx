import { renderToString } from 'preact-render-to-string';
import { NotFound } from './login/not-found.tsx';
import { Sidebar } from './playground/sidebar.tsx';
import { emptyState } from './playground/state.ts';
import { Connection } from './shared/connection.tsx';
import { TopBar } from './shared/top-bar.tsx';

// What a page shows until its script runs, by the page's name. The build runs this and keeps what it writes: the first paint
// waits for no script, and the script draws on in these elements.
const nobody = { id: '', name: '' };
const views = {
  playground: (
    <div class="playground">
      <Sidebar
        state={emptyState}
        client={{ createChannel: async () => '', rename: async () => nobody }}
        unread={new Map()}
        here=""
        onGo={() => {}}
        onTry={() => {}}
      />
      <main class="channel" />
    </div>
  ),
  status: (
    <TopBar here="/status">
      <Connection state="connecting" />
    </TopBar>
  ),
  'status-for-strangers': (
    <TopBar here="/status" isForStrangers>
      <Connection state="connecting" />
    </TopBar>
  ),
  account: <TopBar here="/account" />,
  'not-found': <NotFound />,
};

const written = Object.entries(views).map(([name, view]) => [name, renderToString(view)]);
console.log(JSON.stringify(Object.fromEntries(written)));
