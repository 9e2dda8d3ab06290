import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type GroupIdentity, identifyGroup, MARK_VARIABLE } from "../src/group-identity.js";
import { standingAtAGlance, standingInSurvey } from "../src/group-standing.js";
import { bearsMark, survey, surveyNow } from "../src/group-survey.js";

// The kernel answers for a real group; what /proc shows of it is planted.
let leader: ChildProcess;
let group: GroupIdentity;
let root: string;

beforeEach(() => {
  leader = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
  group = identifyGroup(leader.pid ?? 0, "mine");
  root = mkdtempSync(join(tmpdir(), "procfs-"));
});
afterEach(async () => {
  leader.kill("SIGKILL");
  await once(leader, "exit");
  rmSync(root, { recursive: true });
});

function plant(
  pid: number,
  options: { state?: string; group?: number; session?: number; start?: string; mark?: string },
) {
  const { state = "S", group: of = group.id, session = of, start = "7", mark } = options;
  const rest = `0 -1 4194304 98 0 1 0 0 0 0 0 20 0 1 0 ${start} 3133440`;
  mkdirSync(join(root, String(pid)));
  writeFileSync(join(root, String(pid), "stat"), `${pid} (a) b) ${state} 1 ${of} ${session} ${rest}\n`);
  writeFileSync(join(root, String(pid), "environ"), `HOME=/\0${MARK_VARIABLE}=${mark ?? ""}\0`);
}

const judge = () => {
  const glance = standingAtAGlance(group, root);
  return glance === "look" ? standingInSurvey(group, surveyNow(root), root).standing : glance;
};
const started = () => group.leader?.startTime ?? "";

describe("the standing of a recorded group", () => {
  it("present: the leader lives", () => {
    plant(group.id, { start: started() });
    expect(judge()).toBe("present");
  });

  it("present: the leader is a zombie, another member lives", () => {
    plant(group.id, { start: started(), state: "Z" });
    plant(11, {});
    expect(judge()).toBe("present");
  });

  it("absent: the leader is a zombie, and so is every other member", () => {
    plant(group.id, { start: started(), state: "Z" });
    plant(11, { state: "Z" });
    expect(judge()).toBe("absent");
  });

  it("absent: another process leads under that number", () => {
    plant(group.id, { start: "99999999" });
    plant(11, { mark: "mine" });
    expect(judge()).toBe("absent");
  });

  it("present: the leader is gone, one of its members bears the mark", () => {
    plant(11, { mark: "theirs" });
    plant(12, { mark: "mine" });
    expect(judge()).toBe("present");
  });

  it("unproven: the leader is gone, and no member bears the mark", () => {
    plant(11, { mark: "theirs" });
    expect(judge()).toBe("unproven");
  });

  it("absent: only zombies without a leader", () => {
    plant(11, { state: "Z", mark: "mine" });
    expect(judge()).toBe("absent");
  });

  it("absent: what has the number belongs to another session, so it never was on the leash", () => {
    plant(11, { session: 10, mark: "mine" });
    plant(12, { state: "Z" });
    expect(judge()).toBe("absent");
  });

  it("unproven: the kernel knows members that /proc does not show", () => {
    plant(11, { group: 12 });
    expect(judge()).toBe("unproven");
  });

  it("unproven: no /proc at all", () => {
    expect(judge()).toBe("unproven");
    const { leader: _, ...bare } = group;
    expect(standingAtAGlance(bare, root)).toBe("unproven");
  });

  it("absent: the kernel knows no such group, whatever /proc shows", async () => {
    plant(group.id, { start: started() });
    leader.kill("SIGKILL");
    await once(leader, "exit");
    expect(judge()).toBe("absent");
    leader = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
  });
});

it("both surveys see the same, whatever else lies in the directory", async () => {
  for (let pid = 2; pid < 200; pid++) plant(pid, { group: 2 + (pid % 7), state: pid % 5 === 0 ? "Z" : "S" });
  writeFileSync(join(root, "version"), "Linux");
  mkdirSync(join(root, "300"));
  writeFileSync(join(root, "300", "stat"), "garbage");
  const now = surveyNow(root);
  expect(await survey(root)).toEqual(now);
  const living = [...(now?.living.values() ?? [])].flat().length;
  expect(living).toBe(198 - 39);
  expect(now?.dead.size).toBe(7);
});

it("a mark is a whole variable, not a part of one", () => {
  plant(11, { mark: "mine-too" });
  plant(12, { mark: "mine" });
  expect([bearsMark(11, "mine", root), bearsMark(12, "mine", root), bearsMark(13, "mine", root)]).toEqual([
    false,
    true,
    false,
  ]);
});
