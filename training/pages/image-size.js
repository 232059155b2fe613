// Reads width and height from the header of a JPEG image.

const NO_FRAMES = [0xc4, 0xc8, 0xcc];

export function sizeOf(bytes) {
  for (let at = 2; at < bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1];
    const frame = marker >= 0xc0 && marker <= 0xcf && !NO_FRAMES.includes(marker);
    if (frame) return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
  }
  throw new Error('a JPEG without a frame');
}
