/**
 * What Slack offers to say in a direct conversation with the bot: whole lines, since a press sends them as they are. At
 * most four. Source: Slack docs, "assistant.threads.setSuggestedPrompts".
 */
export const SUGGESTED_PROMPTS = [
  { title: 'What is down?', message: '/monitor list down' },
  { title: 'Show all monitors', message: '/monitor list' },
  { title: 'Which models can I ask?', message: '/askwatch models' },
  { title: 'What else can you do?', message: '/askwatch help' },
];
