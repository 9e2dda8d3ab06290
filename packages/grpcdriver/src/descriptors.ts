import { DESCRIPTOR_SET } from "../gen/descriptor_set.js";

/**
 * The files of the protocol and all that they import, each a serialised google.protobuf.FileDescriptorProto exactly as
 * the compiler wrote it: what a reflection service hands out.
 */
export function fileDescriptors(): readonly Buffer[] {
  const set = Buffer.from(DESCRIPTOR_SET, "base64");
  const files: Buffer[] = [];
  // A FileDescriptorSet is nothing but field 1, repeated: its tag, a length, and a file.
  for (let at = 0; at < set.length; ) {
    if (set[at] !== 0x0a) throw new Error("the descriptor set is damaged");
    at += 1;
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = set[at] ?? 0;
      at += 1;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    files.push(set.subarray(at, at + length));
    at += length;
  }
  return files;
}
