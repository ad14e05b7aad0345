import { CommandLineError } from '../command.ts';
import { type Imported, leftOut, tagsFrom } from './imported.ts';

/**
 * Columns of an export, and in its bulk upload `Interval`. Newer names stand behind. Source: Uptime Kuma, issue 1190 (a header of the
 * export), and cvzero89/uptime-robot, uptimeimport.csv (one of the bulk upload).
 */
const COLUMNS = {
  name: ['friendly name', 'name', 'monitor name'],
  type: ['type', 'monitor type'],
  status: ['status'],
  target: ['url/ip', 'url', 'url or ip', 'target'],
  keywordType: ['keyword type'],
  keyword: ['keyword value', 'keyword'],
  port: ['port'],
  interval: ['interval', 'monitoring interval'],
  tags: ['tags'],
} as const;
type UptimeRobotRow = Record<keyof typeof COLUMNS, string>;

/** Numbers of the types. Source: UptimeRobot, "API v2", monitor types. */
const TYPES = new Map(
  Object.entries({
    ...{ '1': 'http', '2': 'keyword', '3': 'ping', '4': 'port', '5': 'heartbeat' },
    ...{ 'http(s)': 'http', https: 'http', cron: 'heartbeat' },
    ...{ 'tcp port': 'port', 'port monitoring': 'port' },
  }),
);

export function uptimeRobotMonitors(csv: string): Imported[] {
  const [heading = [], ...lines] = csvRows(csv);
  const names = heading.map((name) => name.trim().toLowerCase());
  const placeOf = (column: keyof typeof COLUMNS) =>
    names.findIndex((name) => (COLUMNS[column] as readonly string[]).includes(name));
  if (placeOf('name') < 0 || placeOf('type') < 0 || placeOf('target') < 0) {
    throw new CommandLineError(
      'This is not an export of UptimeRobot: its first line must name the columns Type, Friendly Name and URL/IP.',
    );
  }
  const columns = Object.keys(COLUMNS) as Array<keyof typeof COLUMNS>;
  return lines
    .filter((line) => line.some((cell) => cell.trim() !== ''))
    .map((line) => {
      const cells = columns.map((column) => [column, line[placeOf(column)]?.trim() ?? '']);
      return importedRow(Object.fromEntries(cells) as UptimeRobotRow);
    });
}

function importedRow(row: UptimeRobotRow): Imported {
  const name = row.name || row.target || 'monitor';
  const typeText = row.type.toLowerCase();
  const type = TYPES.get(typeText) ?? typeText;
  if (/^(0|paused)$/i.test(row.status)) {
    return leftOut(name, 'it is paused, and a monitor in a file always runs');
  }
  const comments: string[] = [];
  const tags = tagsFrom(row.tags.split(/[,;]/), comments);
  const seconds = intervalSeconds(row.interval);
  const interval = seconds === undefined ? {} : { interval_seconds: seconds };
  const as = (check_type: string, target: string, config: Record<string, unknown>): Imported => ({
    ...{ name, comments },
    fields: { name, target, check_type, config, ...(tags.length > 0 && { tags }) },
  });
  const url = /^https?:\/\//i.test(row.target) ? row.target : `http://${row.target}`;
  switch (type) {
    case 'http':
      return as('HTTP', url, interval);
    case 'keyword': {
      // The name of the API is ALERT_EXISTS: it alerts when the page has the keyword.
      const inverted = !/not|^2$/i.test(row.keywordType);
      return as('KEYWORD', url, { ...interval, target_keyword: row.keyword, inverted });
    }
    case 'port':
      return as('TCP', `${row.target.replace(/^[a-z]+:\/\//i, '')}:${row.port}`, interval);
    case 'heartbeat': {
      comments.push('the job has to call its new push address: /monitor show, New push address');
      return as('HEARTBEAT', name, { period_seconds: seconds ?? 86_400 });
    }
    case 'ping':
      return leftOut(name, "Askwatch can't check ping; use check_type: TCP and a port of it");
    default:
      return leftOut(name, `Askwatch can't check ${type}, or the file lacks its settings`);
  }
}

/** Bulk uploads have minutes, other lists seconds. From 60 on it is read as seconds: a check too often does no harm. */
function intervalSeconds(text: string): number | undefined {
  const number = Number(text);
  if (text === '' || !(number > 0)) return undefined;
  return Math.min(86_400, Math.max(5, Math.round(number < 60 ? number * 60 : number)));
}

/** Rows of a CSV text, whose cells in quotes may hold commas, line breaks and doubled quotes. Source: RFC 4180. */
function csvRows(csv: string): string[][] {
  const text = csv.replace(/^\ufeff/, '');
  const rows: string[][] = [];
  let row: string[] = [];
  const END = /,|\r?\n|\r|$/g;
  for (let at = 0; at < text.length; ) {
    let cell = '';
    for (let isOpen = text[at] === '"'; isOpen; isOpen = text[at] === '"') {
      const quote = text.indexOf('"', at + 1);
      const end = quote < 0 ? text.length : quote;
      cell += text.slice(at + 1, end);
      at = end + 1;
      // A second quote stands for one, and what follows belongs to the cell.
      if (text[at] === '"') cell += '"';
    }
    END.lastIndex = at;
    const { index = text.length, 0: separator = '' } = END.exec(text) ?? {};
    row.push(cell + text.slice(at, index));
    at = index + separator.length;
    if (separator === ',') continue;
    rows.push(row);
    row = [];
  }
  return row.length > 0 ? [...rows, row] : rows;
}
