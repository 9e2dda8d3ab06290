import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  ownProcessIdentity,
  type ProcessIdentity,
  parseProcessStat,
  processLife,
  readProcessIdentity,
} from "../src/host.js";

const BOOT = "815a6f2a-fe30-42da-a74a-ecb3a3191fb0";

const self: ProcessIdentity = {
  pid: process.pid,
  startTime: "100",
  bootId: BOOT,
  pidNamespace: "pid:[4026531836]",
  timeNamespace: "time:[4026531834]",
};
const holder: ProcessIdentity = { ...self, pid: 4152, startTime: "95141" };

function statLine(options: { pid?: number; comm?: string; state?: string; threads?: number; startTime?: string } = {}) {
  const { pid = 4152, comm = "node", state = "S", threads = 1, startTime = "95141" } = options;
  return `${pid} (${comm}) ${state} 4145 4140 2935 0 -1 4194304 98 0 1 0 0 0 0 0 20 0 ${threads} 0 ${startTime} 3133440 391\n`;
}

describe("parseProcessStat", () => {
  it.each(["node", "a b", "a) Z 1 (b", ")", "((", "two\nlines", ""])("reads past a name like %j", (comm) => {
    expect(parseProcessStat(statLine({ comm }))).toEqual({
      pid: 4152,
      state: "S",
      group: 4140,
      session: 2935,
      threads: 1,
      startTime: "95141",
    });
  });

  it("keeps a start time beyond 2^53 exact", () => {
    expect(parseProcessStat(statLine({ startTime: "18446744073709551615" }))?.startTime).toBe("18446744073709551615");
  });

  it.each(["", "4152", "4152 (node)", "4152 (node) S 1 2", "x (node) S", statLine({ startTime: "-1" })])(
    "refuses %j",
    (text) => {
      expect(parseProcessStat(text)).toBeUndefined();
    },
  );
});

describe("processLife on a procfs of our own making", () => {
  let root: string;
  const absent = () => "absent" as const;
  const present = () => "present" as const;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "procfs-"));
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });
  function plant(line: string, pid = 4152) {
    mkdirSync(join(root, String(pid)));
    writeFileSync(join(root, String(pid), "stat"), line);
  }

  it.each(["R", "S", "D", "T", "t", "I"])("state %s with the recorded start time is alive", (state) => {
    plant(statLine({ state }));
    expect(processLife(holder, { root, self, probe: present })).toBe("alive");
  });

  it.each(["Z", "X", "x"])("state %s is gone", (state) => {
    plant(statLine({ state }));
    expect(processLife(holder, { root, self, probe: present })).toBe("gone");
  });

  it("a zombie whose other threads still run is alive", () => {
    plant(statLine({ state: "Z", threads: 3 }));
    expect(processLife(holder, { root, self, probe: present })).toBe("alive");
  });

  it("another start time under the same pid is another process: gone", () => {
    plant(statLine({ startTime: "95142" }));
    expect(processLife(holder, { root, self, probe: present })).toBe("gone");
  });

  it("no entry, and the kernel says so too: gone", () => {
    expect(processLife(holder, { root, self, probe: absent })).toBe("gone");
  });

  it.each(["present", "unknown"] as const)("no entry, but the kernel answers %s: hidden, so unknown", (answer) => {
    expect(processLife(holder, { root, self, probe: () => answer })).toBe("unknown");
  });

  it("an entry that does not parse is unknown, even if the kernel knows no such pid", () => {
    plant("garbage");
    expect(processLife(holder, { root, self, probe: absent })).toBe("unknown");
  });

  it.each([
    ["bootId", "00000000-0000-0000-0000-000000000000"],
    ["pidNamespace", "pid:[1]"],
    ["timeNamespace", "time:[1]"],
  ] as const)("another %s is unknown, whatever the pid does here", (field, value) => {
    expect(processLife({ ...holder, [field]: value }, { root, self, probe: absent })).toBe("unknown");
  });

  it("a process that cannot say who it is itself judges nobody", () => {
    plant(statLine({ state: "Z" }));
    expect(processLife(holder, { root, self: undefined, probe: absent })).toBe("unknown");
  });

  it.each([0, -1, 1.5, Number.NaN])("never asks the kernel about pid %d", (pid) => {
    const probe = () => {
      throw new Error("asked");
    };
    expect(processLife({ ...holder, pid }, { root, self, probe })).toBe("unknown");
  });

  it("a procfs that belongs to another PID namespace gives no identity", () => {
    plant(statLine({ pid: process.pid }), process.pid);
    mkdirSync(join(root, "sys/kernel/random"), { recursive: true });
    writeFileSync(join(root, "sys/kernel/random/boot_id"), `${BOOT}\n`);
    mkdirSync(join(root, String(process.pid), "ns"));
    symlinkSync("pid:[4026531836]", join(root, String(process.pid), "ns", "pid"));
    symlinkSync("1", join(root, "self"));
    expect(readProcessIdentity(process.pid, root)).toBeUndefined();

    rmSync(join(root, "self"));
    symlinkSync(String(process.pid), join(root, "self"));
    expect(readProcessIdentity(process.pid, root)).toEqual({
      pid: process.pid,
      startTime: "95141",
      bootId: BOOT,
      pidNamespace: "pid:[4026531836]",
      timeNamespace: "none",
    });
  });
});

describe.runIf(process.platform === "linux")("processLife on this host", () => {
  it("this process is alive, and not under another start time", () => {
    const own = ownProcessIdentity();
    expect(own).toMatchObject({ pid: process.pid });
    if (own === undefined) throw new Error("no identity");
    expect(ownProcessIdentity()).toBe(own);
    expect(processLife(own)).toBe("alive");
    expect(processLife({ ...own, startTime: "1" })).toBe("gone");
  });

  it("a child is alive while stopped, and gone once killed and reaped", async () => {
    const child = spawn("sleep", ["60"]);
    const identity = readProcessIdentity(child.pid ?? 0);
    if (identity === undefined) throw new Error("no identity");
    child.kill("SIGSTOP");
    expect(processLife(identity)).toBe("alive");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(processLife(identity)).toBe("gone");
  });

  it("a zombie that nobody reaps is gone", async () => {
    // The shell execs into a sleep, which never waits for the child that it finds itself with. The child lives until
    // standard input is closed: a shell might still have reaped it.
    const parent = spawn("sh", ["-c", "exec 3<&0; (read _ <&3) & echo $!; exec sleep 60"]);
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const identity = readProcessIdentity(Number(line.toString()));
    try {
      if (identity === undefined) throw new Error("no identity");
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
      parent.stdin.end();
      await expect.poll(() => processLife(identity)).toBe("gone");
      expect(readProcessIdentity(identity.pid)).toEqual(identity);
    } finally {
      parent.kill("SIGKILL");
      await once(parent, "exit");
    }
  });
});
