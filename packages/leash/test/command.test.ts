import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findCommand } from "../src/command.js";

let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "command-"));
  mkdirSync(join(dir, "bin"));
  for (const name of ["tool", "-x"]) writeFileSync(join(dir, "bin", name), "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(dir, "bin", "notes"), "text\n");
  chmodSync(join(dir, "bin", "notes"), 0o644);
});
afterAll(() => rmSync(dir, { recursive: true }));

const code = (value: string) => expect.objectContaining({ code: value });

describe("findCommand", () => {
  it("keeps the name as given where the shell finds the same file", () => {
    expect(findCommand("tool", "/", { PATH: `/nowhere:${dir}/bin` })).toBe("tool");
    expect(findCommand("bin/tool", dir, {})).toBe("bin/tool");
    expect(findCommand(`${dir}/bin/tool`, "/", {})).toBe(`${dir}/bin/tool`);
  });

  it("gives the file where the shell would not: a name like an option, an environment without PATH", () => {
    expect(findCommand("-x", "/", { PATH: join(dir, "bin") })).toBe(join(dir, "bin", "-x"));
    expect(findCommand("sh", "/", {})).toMatch(/^\/(usr\/)?bin\/sh$/);
  });

  it("takes an empty entry of PATH for the working directory", () => {
    expect(findCommand("tool", join(dir, "bin"), { PATH: ":/nowhere" })).toBe("tool");
  });

  it.each(["gone", "bin/gone", "/gone/tool"])("%s is command-not-found", (command) => {
    expect(() => findCommand(command, dir, { PATH: join(dir, "bin") })).toThrow(code("command-not-found"));
  });

  it.each(["notes", "bin/notes", "./bin"])("%s is command-not-executable", (command) => {
    expect(() => findCommand(command, dir, { PATH: join(dir, "bin") })).toThrow(code("command-not-executable"));
  });

  it.each(["", "a\0b"])("%j is invalid", (command) => {
    expect(() => findCommand(command, dir, {})).toThrow(code("invalid"));
  });
});
