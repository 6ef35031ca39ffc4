/*
 * As much of Redis' protocol (RESP 2 and 3) as it takes to tell where a command or a reply ends, and which one it is.
 */

const COLON_LIKE = new Set("+-:_,#(".split("").map((type) => type.charCodeAt(0)));
const BULK_LIKE = new Set("$!=".split("").map((type) => type.charCodeAt(0)));
const LIST_LIKE = new Set("*~>".split("").map((type) => type.charCodeAt(0)));
const PAIRS_LIKE = new Set("%|".split("").map((type) => type.charCodeAt(0)));

/** Where the value that begins at `start` ends; -1 when the rest of it has not come yet. */
export function valueEnd(bytes: Buffer, start: number): number {
  const lineEnd = bytes.indexOf("\r\n", start, "latin1");
  if (lineEnd < 0) return -1;
  const type = bytes[start] ?? 0;
  const afterLine = lineEnd + 2;
  if (COLON_LIKE.has(type)) return afterLine;
  const count = Number(bytes.toString("latin1", start + 1, lineEnd));
  if (!Number.isInteger(count)) throw new Error(`Not RESP: ${bytes.toString("latin1", start, lineEnd)}`);
  if (count < 0) return afterLine;
  if (BULK_LIKE.has(type)) {
    const end = afterLine + count + 2;
    return end <= bytes.length ? end : -1;
  }
  const isPairs = PAIRS_LIKE.has(type);
  if (!isPairs && !LIST_LIKE.has(type)) throw new Error(`Not RESP: type ${type}`);
  let end = afterLine;
  // An attribute is followed by the value that it belongs to.
  const values = isPairs ? count * 2 + (type === 0x7c ? 1 : 0) : count;
  for (let i = 0; i < values; i += 1) {
    end = valueEnd(bytes, end);
    if (end < 0) return -1;
  }
  return end;
}

/** Cuts a stream of bytes into whole values. */
export function createSplitter(onValue: (value: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    while (start < rest.length) {
      const end = valueEnd(rest, start);
      if (end < 0) break;
      onValue(rest.subarray(start, end));
      start = end;
    }
    rest = rest.subarray(start);
  };
}

/** The first words of a command, as text: enough to know it by. */
export function wordsOf(command: Buffer, most: number): string[] {
  const words: string[] = [];
  let at = command.indexOf("\r\n") + 2;
  while (words.length < most && at < command.length) {
    const lineEnd = command.indexOf("\r\n", at);
    const length = Number(command.toString("latin1", at + 1, lineEnd));
    words.push(command.toString("latin1", lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
  return words;
}

/** True for a message of a channel that comes by itself. */
export function isMessage(value: Buffer): boolean {
  const type = value[0];
  if (type !== 0x3e && type !== 0x2a) return false;
  return value.toString("latin1", 0, 24).includes("\r\n$7\r\nmessage\r\n");
}

/** True for what answers no command (RESP 3 push). */
export function isPush(value: Buffer): boolean {
  return value[0] === 0x3e;
}

/** A text as a reply. */
export function bulk(text: string): Buffer {
  return Buffer.from(`$${Buffer.byteLength(text)}\r\n${text}\r\n`);
}
