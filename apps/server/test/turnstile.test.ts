import { expect, it } from "vitest";
import { Turnstile } from "../src/turnstile.js";

/** Work that ends when it is told to. */
function latch() {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end, ended };
}

const settle = () => new Promise(setImmediate);

it("lets in as many as it may, and the others in the order in which they came", async () => {
  const turnstile = new Turnstile(2);
  const latches = [latch(), latch(), latch(), latch()];
  const begun: number[] = [];
  const passes = latches.map(({ ended }, index) =>
    turnstile.pass(async () => {
      begun.push(index);
      await ended;
      return index;
    }),
  );
  await settle();
  expect(begun).toEqual([0, 1]);
  latches[1]?.end();
  await settle();
  expect(begun).toEqual([0, 1, 2]);
  for (const { end } of latches) end();
  expect(await Promise.all(passes)).toEqual([0, 1, 2, 3]);
});

it("goes on after work that failed", async () => {
  const turnstile = new Turnstile(1);
  const failure = new Error("failed");
  const first = turnstile.pass(() => Promise.reject(failure));
  const second = turnstile.pass(async () => "second");
  await expect(first).rejects.toBe(failure);
  expect(await second).toBe("second");
  expect(await turnstile.pass(async () => "third")).toBe("third");
});
