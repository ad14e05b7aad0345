/** Where somebody writes or does something: in a channel, or in a thread of it. */
export interface Where {
  channel: string;
  thread?: string;
}
