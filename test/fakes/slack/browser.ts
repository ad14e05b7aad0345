/** A page as a browser shows it. */
export interface Page {
  status: number;
  headers: Headers;
  text: string;
  /** The address of its one link. */
  link: string;
}

/** A browser with its cookies; it believes each address to be https. */
export function openBrowser() {
  const cookies = new Map<string, string>();
  return {
    cookies,
    async open(url: string): Promise<Page> {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const answer = await fetch(url, { headers: { cookie }, redirect: 'manual' });
      for (const set of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        if (/expires=Thu, 01 Jan 1970/i.test(set)) cookies.delete(name);
        else cookies.set(name, value);
      }
      const text = await answer.text();
      const link = (/<a href="([^"]*)"/.exec(text)?.[1] ?? '').replaceAll('&amp;', '&');
      return { status: answer.status, headers: answer.headers, text, link };
    },
  };
}
