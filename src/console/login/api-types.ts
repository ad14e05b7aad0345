/** What `/console/session` tells a page: no password is set, this browser is logged in, or it has to log in. */
export interface SessionState {
  state: 'open' | 'in' | 'out';
}
