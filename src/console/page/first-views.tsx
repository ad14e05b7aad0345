import { renderToString } from 'preact-render-to-string';
import { NotFound } from './login/not-found.tsx';
import { Sidebar } from './playground/sidebar.tsx';
import { emptyState } from './playground/state.ts';
import { Connection } from './shared/connection.tsx';
import { TopBar } from './shared/top-bar.tsx';

// HTML that pages show until their script runs, by the page's name. The build runs this file and keeps its output. The
// script then continues in the same elements.
const views = {
  playground: (
    <div class="playground">
      <Sidebar state={emptyState} unread={new Map()} here="" onGo={() => {}} onTry={() => {}} />
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
