/** What a form does when it is sent, in place of the browser's own way. */
export const submitting = (act: () => void) => (event: Event) => {
  event.preventDefault();
  act();
};

/** Why something did not work; an empty text is no problem. */
export const Problem = ({ text }: { text: string }) =>
  text === '' ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  );
