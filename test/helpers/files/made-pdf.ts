import { deflateSync } from 'node:zlib';

/** A PDF whose pages hold these lines; `content` takes the place of what draws one. */
export function madePdf(
  pages: readonly string[],
  {
    content = (line: string) => Buffer.from(`BT /F1 12 Tf 72 720 Td (${line}) Tj ET`),
    filter = '',
    trailer = '',
  } = {},
): Buffer {
  const objects: Buffer[] = [];
  const add = (text: string | Buffer) => objects.push(Buffer.from(text));
  const pageIds = pages.map((_, at) => 4 + 2 * at);
  add('<< /Type /Catalog /Pages 2 0 R >>');
  add(
    `<< /Type /Pages /Kids [${pageIds.map((id) => `${id} 0 R`).join(' ')}] /Count ${pages.length} >>`,
  );
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>');
  for (const [at, line] of pages.entries()) {
    const id = pageIds[at] ?? 0;
    add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${id + 1} 0 R >>`,
    );
    const stream = content(line);
    const head = `<< /Length ${stream.length}${filter} >>\nstream\n`;
    add(Buffer.concat([Buffer.from(head), stream, Buffer.from('\nendstream')]));
  }
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  const offsets: number[] = [];
  let length = parts[0]?.length ?? 0;
  for (const [at, object] of objects.entries()) {
    offsets.push(length);
    const whole = Buffer.concat([
      Buffer.from(`${at + 1} 0 obj\n`),
      object,
      Buffer.from('\nendobj\n'),
    ]);
    parts.push(whole);
    length += whole.length;
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  parts.push(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R${trailer} >>\nstartxref\n${length}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}

/** A page whose contents unpack to so many megabytes of spaces and text. */
export function packedPdf(megabytes: number): Buffer {
  const inner = Buffer.alloc(megabytes * 1024 * 1024, 'BT (a) Tj ET ');
  const packed = deflateSync(inner, { level: 1 });
  return madePdf(['x'], { content: () => packed, filter: ' /Filter /FlateDecode' });
}
