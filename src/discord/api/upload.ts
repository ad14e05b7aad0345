/** A text file under a message. */
export interface TextFile {
  name: string;
  text: string;
}

/** A request with a file, in place of any that an earlier try put under the message. Source: Discord docs, "Uploading Files". */
export function withFile(body: object, { name, text }: TextFile) {
  const contentType = 'text/markdown; charset=utf-8';
  return {
    body: { ...body, attachments: [{ id: '0', filename: name }] },
    files: [{ name, contentType, data: Buffer.from(text) }],
  };
}
