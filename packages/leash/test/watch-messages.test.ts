import { describe, expect, it } from "vitest";
import { NO_END } from "../src/index.js";
import { decodeHolderMessage, encodeLine, LineCutter, type Numbered } from "../src/watch-messages.js";

const group = {
  id: 4152,
  mark: "3d45cdd4",
  leader: { pid: 4152, startTime: "95141", bootId: "b", pidNamespace: "p", timeNamespace: "t" },
};
const until = { wall: 1_800_000_000_000.5, monotonic: 70_000.25 };

describe("messages of a holder", () => {
  it.each<Numbered>([
    { seq: 1, type: "register", group, until, suspended: false, held: true },
    { seq: 2, type: "register", group: { id: 2, mark: "m" }, until: NO_END, suspended: true, held: false },
    { seq: 3, type: "extend", id: 4152, until },
    { seq: 4, type: "suspend", id: 4152 },
    { seq: 5, type: "resume", id: 4152 },
    { seq: 6, type: "forget", id: 4152 },
  ])("come back as they were: %j", (message) => {
    expect(decodeHolderMessage(encodeLine(message).trimEnd())).toEqual(message);
  });

  it.each([
    "",
    "null",
    "{}",
    '{"seq":1}',
    '{"seq":1,"type":"shrink","id":2}',
    '{"seq":1,"type":"extend","id":2}',
    '{"seq":1,"type":"extend","id":2,"until":{"wall":"1","monotonic":1}}',
    '{"seq":1,"type":"extend","id":2,"until":{"wall":1}}',
    // Group 1 would be every process of the host, group 0 the watcher's own.
    '{"seq":1,"type":"register","group":{"id":1,"mark":"m"},"until":{"wall":1,"monotonic":1}}',
    '{"seq":1,"type":"register","group":{"id":0,"mark":"m"},"until":{"wall":1,"monotonic":1}}',
  ])("refuses %j", (line) => {
    expect(() => decodeHolderMessage(line)).toThrow();
  });
});

describe("LineCutter", () => {
  it("joins what was cut anywhere, and never gives out a torn last line", () => {
    const whole = "first\nsecond\ntorn";
    for (let cut = 0; cut <= whole.length; cut++) {
      const lines = new LineCutter();
      expect([...lines.push(whole.slice(0, cut)), ...lines.push(whole.slice(cut))]).toEqual(["first", "second"]);
    }
  });
});
