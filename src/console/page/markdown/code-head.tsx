import { CopyButton } from '../shared/copy-button.tsx';

/** What stands above a block of code: what it is written in, and the button that copies it. */
export function CodeHead({ language, text }: { language: string | undefined; text: string }) {
  return (
    <>
      <span>{language}</span>
      <CopyButton text={text} />
    </>
  );
}
