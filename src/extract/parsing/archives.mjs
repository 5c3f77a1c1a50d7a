// @ts-check
// Workbooks and Word documents are ZIP archives: what one unpacks to is known from its directory, before it is unpacked.

const END = Buffer.from("PK\x05\x06", "latin1");
const MEMBER = 0x02014b50;
const UNPACKED_BYTES_MAX = 500_000_000;

/** The sum of the sizes in an archive's directory; 0 when there is none. @param {Buffer} bytes */
function unpackedBytes(bytes) {
  const end = bytes.lastIndexOf(END);
  let at = end < 0 ? bytes.length : bytes.readUInt32LE(end + 16);
  let sum = 0;
  while (at + 46 <= bytes.length && bytes.readUInt32LE(at) === MEMBER) {
    sum += bytes.readUInt32LE(at + 24);
    at += 46 + bytes.readUInt16LE(at + 28) + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return sum;
}

/** An archive may lie about its sizes, so the worker's memory is watched as well. @param {Buffer} bytes */
export function assertUnpackable(bytes) {
  const sum = unpackedBytes(bytes);
  if (sum > UNPACKED_BYTES_MAX) throw new Error(`it unpacks to ${Math.round(sum / 1e6)} MB, which is too large`);
}
