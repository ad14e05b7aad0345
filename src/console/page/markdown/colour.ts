import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import markdown from 'highlight.js/lib/languages/markdown';
import nginx from 'highlight.js/lib/languages/nginx';
import php from 'highlight.js/lib/languages/php';
import powershell from 'highlight.js/lib/languages/powershell';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import shell from 'highlight.js/lib/languages/shell';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';
import type { ColourJob, ColourResult, Piece } from './blocks.ts';

const LANGUAGES = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  markdown,
  nginx,
  php,
  powershell,
  python,
  ruby,
  rust,
  shell,
  sql,
  swift,
  typescript,
  xml,
  yaml,
};

const lowlight = createLowlight(LANGUAGES);

/** More coloured parts than these would hold the page while it lays them out. */
export const MAX_COLOURED = 4_000;

type Coloured = ReturnType<typeof lowlight.highlight>['children'][number];

/** Code as pieces whose classes say what each part is. Pure. */
export function colour({ language, code }: ColourJob): ColourResult {
  if (!lowlight.registered(language)) return undefined;
  const { children } = lowlight.highlight(language, code);
  let parts = 0;
  function pieceOf(node: Coloured): Piece {
    if (node.type === 'text') return node.value;
    if (node.type !== 'element') return '';
    parts += 1;
    const { className } = node.properties;
    const name = Array.isArray(className) ? className.join(' ') : '';
    return ['span', { class: name }, node.children.map(pieceOf)];
  }
  const pieces = children.map(pieceOf);
  return parts <= MAX_COLOURED ? JSON.stringify(pieces) : undefined;
}
