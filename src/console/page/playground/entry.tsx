import { render } from 'preact';
import './playground.css';
import { ChatClient } from './client.ts';
import { Playground } from './playground.tsx';

const root = document.getElementById('app');
if (root) render(<Playground client={new ChatClient()} />, root);
