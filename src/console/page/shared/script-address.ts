/** Returns the address of a script that the page loads on demand; empty if the server didn't send one. */
export function scriptAddress(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';
}
