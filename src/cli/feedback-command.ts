import type { AskwatchCommand } from './command.ts';

export function addFeedbackCommand(root: AskwatchCommand): void {
  root
    .command('feedback')
    .description('Export rated answers')
    .command('export')
    .description('Print rated answers as JSON lines')
    .option('--since <when>', 'a date such as 2026-11-01, or a duration such as 7d')
    .option('--down', 'only answers with at least one 👎')
    .quiet()
    .example('askwatch feedback export --since 7d --down > feedback.jsonl')
    .runs(async () => (await import('./feedback.ts')).exportFeedback);
}
