import { render } from 'preact';
import './playground.css';
import { createClient } from './client.ts';
import { Playground } from './playground.tsx';

const root = document.getElementById('app');
if (root) render(<Playground client={createClient()} />, root);
