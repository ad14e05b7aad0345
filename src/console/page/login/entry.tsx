import { render } from 'preact';
import './login.css';
import { ownPath } from '../../shared/own-path.ts';
import { fetchSessionState } from '../shared/session.ts';
import { Login } from './login.tsx';

/** The page after the login. Browsers keep the part of an address behind `#` over redirects. */
const wanted = ownPath(new URLSearchParams(location.search).get('to'));
const to = wanted.includes('#') ? wanted : wanted + location.hash;

const root = document.getElementById('app');
// After a link from another site, the server took the browser for logged out: only own requests carry the cookie.
const state = await fetchSessionState().catch(() => 'out');
if (state !== 'out') location.replace(to);
else if (root) render(<Login to={to} />, root);
