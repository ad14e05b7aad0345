import type { ColourJob } from './blocks.ts';
import { colour } from './colour.ts';

self.onmessage = ({ data }: MessageEvent<ColourJob>) => self.postMessage(colour(data));
self.postMessage('ready');
