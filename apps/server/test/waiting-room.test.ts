import { expect, it } from "vitest";
import { WaitingRoom } from "../src/run/waiting-room.js";

const MIB = 1_048_576;
const latch = () => {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
};

it("holds 64 MiB of prompts that wait, whatever they wait for, and refuses one more until one has gone", async () => {
  const room = new WaitingRoom(() => 0.5);
  const { opened, open } = latch();
  const prompt = "é".repeat(MIB / 4 - 100);
  const waiting = Array.from({ length: 127 }, () => room.hold(prompt, () => opened));
  const refusal = { status: 503, code: "too_many_waiting", retryAfterMs: 3_000 };
  await expect(room.hold(prompt, () => opened)).rejects.toMatchObject(refusal);
  // A short one still fits in.
  await expect(room.hold("x", async () => "mine")).resolves.toBe("mine");
  await expect(room.hold("x", () => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
  open();
  await Promise.all(waiting);
  await expect(Promise.all(Array.from({ length: 127 }, () => room.hold(prompt, async () => 1)))).resolves.toHaveLength(
    127,
  );
});

it("counts prompts that are next to nothing, too", async () => {
  const room = new WaitingRoom();
  const { opened, open } = latch();
  const waiting = Array.from({ length: 20_000 }, () =>
    room.hold("x", () => opened.then(() => "begun")).catch(({ code }) => code),
  );
  open();
  const outcomes = await Promise.all(waiting);
  expect(outcomes.filter((outcome) => outcome === "begun")).toHaveLength(16_380);
  expect(outcomes.filter((outcome) => outcome === "too_many_waiting")).toHaveLength(20_000 - 16_380);
});
