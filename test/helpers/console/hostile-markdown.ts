/** `text` repeated to `characters`. */
const fill = (text: string, characters: number) =>
  text.repeat(Math.ceil(characters / text.length)).slice(0, characters);

/** Two texts, each filling a half. */
const halves = (first: string, second: string, characters: number) =>
  fill(first, characters / 2) + fill(second, characters / 2);

/** One text after another, each from its number, to about `characters`. */
function counted(text: (number: number) => string, characters: number): string {
  const parts: string[] = [];
  for (let length = 0, number = 1; length < characters; number += 1) {
    parts.push(text(number));
    length += parts.at(-1)?.length ?? 0;
  }
  return parts.join('');
}

/** Repeated, each has held some parser of Markdown for a time that grows with the square of its length, or crashed it. */
const REPEATED = [
  ...['**a_', '_a', '*a ', 'a**b', '*** a', '*_a', '~~a ', '~a', '😀*', '\u202e*a*'],
  ...['> ', `${'> '.repeat(50)}a\n`, '- ', '1. ', '>- ', '> - a\n>\n', '* ', '-\n'],
  ...['- a\n', '- a\n\n', '- a\n+ a\n* a\n', '- [ ] a\n'],
  ...['[', '[a](', '[[a]', '![[', '[a](<b', '[a][', '[a]: b "', '[a]: b\n"\n', '[^a]', '[^a]: b\n'],
  ...['<', '<a ', '<!--', '<?', 'a <![CDATA[', '<a b="', '<http://', '</a', '<div>\n'],
  ...['&', '&amp;', '&#1234567', 'e`', '`a``b', '```\n', '~~~\na\n', '    a\n'],
  ...['|', '|a|\n|-|\n\n', 'a|b\n-|\n', '|a|b\n', '\\|'],
  ...['a', 'word ', '\n', ' ', '\t', 'a  \n', '\\', '\\\n', '\0', '\u00a0', '\r', '\r\n'],
  ...['# ', '#', 'a\n=\n', '---\n', 'a\n'],
  ...['http://a.b ', 'www.', 'http', 'http://', 'a@a', 'a@b.c ', 'mailto:', '//', 'https://a.b/(('],
  ...['$', '$a ', '$a$', '$$', '$$\n', 'a$b ', '\\(', '\\[', '\\[\n', '$$a $$$ '],
  '> - *a **b_ [c](d "e) `f` <g> &h; | ~~i $j\n',
];

/** Hostile texts of about `characters`, by what they are made of. */
export function hostileMarkdown(characters: number): Array<[name: string, text: string]> {
  return [
    ...REPEATED.map((text): [string, string] => [JSON.stringify(text), fill(text, characters)]),
    ['emphasis in emphasis', halves('*a ', 'b* ', characters)],
    ['strong in strong', halves('**a ', ' b**', characters)],
    ['links in links', halves('[', '](a)', characters)],
    ['lazy lines', halves('> a\n', 'b\n', characters)],
    ['parentheses in an address', `http://a.b/${halves('(', ')', characters)}`],
    ['a sentence behind an address', `http://a.b${fill('.', characters)}`],
    ['an address of many names', `http://${fill('a.', characters)}`],
    ['a mail address of many names', `${fill('a.', characters)}@b`],
    ['a mail address of lines', `a@${fill('_', characters)}`],
    ['list in list', counted((number) => `${' '.repeat(2 * number)}- a\n`, characters)],
    ['many definitions', counted((number) => `[a${number}]: b\n`, characters)],
    ['ticks of every length', counted((number) => `e${'`'.repeat(number)}`, characters)],
    ['one fence', `\`\`\`js\n${fill('f(((" aaa `${\n', characters)}`],
    ['a table of many columns', `${fill('|', characters / 2)}\n${fill('|-', characters / 2)}`],
    ['a table of many rows', `|a|b|\n|-|-|\n${fill('|a|b|\n', characters)}`],
    [
      'a table of empty cells',
      `|${fill('a|', characters / 100)}\n|${fill('-|', characters / 100)}\n${fill('|\n', characters)}`,
    ],
    ['spaces in a paragraph', `a${fill(' ', characters)}b`],
    ['a heading of signs', `# a${fill(' #', characters)} a`],
    ['a long heading', `${fill('a\n', characters)}===`],
    ['one letter with many marks', `a${fill('\u0301', characters)}`],
    ['an entity without end', `&${fill('a', characters)}`],
  ];
}
