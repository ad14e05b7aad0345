/** Where the server says that a script is which this page loads when it is needed; empty when it does not say. */
export function scriptAddress(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';
}
