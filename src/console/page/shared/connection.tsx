const TEXTS = {
  connecting: 'Connecting…',
  open: 'Live',
  lost: 'Connection lost. Reconnecting…',
};

export const Connection = ({ state }: { state: keyof typeof TEXTS }) => (
  <p class={`connection beside fine ${state}`} role="status">
    {TEXTS[state]}
  </p>
);
