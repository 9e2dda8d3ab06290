// Every file of proto/ and what it imports, as one google.protobuf.FileDescriptorSet in base64. Written by scripts/generate.mjs.
export declare const DESCRIPTOR_SET: string;
