export const submitting = (act: () => void) => (event: Event) => {
  event.preventDefault();
  act();
};

/** Shows an error, or nothing for an empty text. */
export const Problem = ({ text }: { text: string }) =>
  text === '' ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  );
