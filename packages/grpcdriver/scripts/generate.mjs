#!/usr/bin/env node
// Writes gen/ from proto/: messages by protoc-gen-es, and the descriptors as buf compiled them, for reflection. With a folder
// as its argument it writes there instead, so that a test can compare.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = resolve(process.argv[2] ?? join(root, "gen"));
const bin = join(root, "node_modules/.bin");

function buf(...args) {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  return execFileSync(join(bin, "buf"), args, { cwd: root, env, maxBuffer: 2 ** 24 });
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const plugin = { local: "protoc-gen-es", out, opt: ["target=js+dts", "import_extension=js"] };
buf("generate", "--template", JSON.stringify({ version: "v2", plugins: [plugin] }));

const set = buf("build", "--as-file-descriptor-set", "--exclude-source-info", "-o", "-");
const header =
  "// Every file of proto/ and what it imports, as one google.protobuf.FileDescriptorSet in base64. Written by scripts/generate.mjs.\n";
const lines = set
  .toString("base64")
  .match(/.{1,110}/g)
  .map((line) => `  "${line}"`);
writeFileSync(join(out, "descriptor_set.js"), `${header}export const DESCRIPTOR_SET =\n${lines.join(" +\n")};\n`);
writeFileSync(join(out, "descriptor_set.d.ts"), `${header}export declare const DESCRIPTOR_SET: string;\n`);
