import { render } from 'preact';
import './login.css';
import { ownPath } from '../../shared/own-path.ts';
import { fetchSessionState } from '../shared/session.ts';
import { Login } from './login.tsx';

/** Where to go after the login. What follows a `#` in an address stays in the browser, over redirects too. */
const wanted = ownPath(new URLSearchParams(location.search).get('to'));
const to = wanted.includes('#') ? wanted : wanted + location.hash;

const root = document.getElementById('app');
// Who comes by a link from another site looks logged out at first: the browser sends the cookie only to what we ask ourselves.
const state = await fetchSessionState().catch(() => 'out');
if (state !== 'out') location.replace(to);
else if (root) render(<Login to={to} />, root);
