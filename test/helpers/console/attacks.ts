/** What a hostile text tries: each sets `window.hacked` or asks an address when it gets its way. */
export const ATTACKS = [
  '<img src=x onerror="window.hacked=1">',
  '<script>window.hacked=1</script>',
  '<svg onload="window.hacked=1"></svg>',
  '<a href="javascript:window.hacked=1">click</a>',
  '"><iframe src="https://evil.example/frame"></iframe>',
  '<style>@import "https://evil.example/style";</style>',
  '<form action="https://evil.example"><input name=q><button>go</button></form>',
].join(' ');
